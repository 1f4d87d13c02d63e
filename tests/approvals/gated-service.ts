import { setTimeout as sleep } from 'node:timers/promises';
import {
  isFinal,
  type Approval,
  type ApprovalSettings,
  type ExecAnswer,
  type Settings,
} from '@secbox/contracts';
import { callsTo, makeKey, type Answer, type Call, type KeyedService } from '../access/keyed-service.js';

/** A service that takes keys, seen by those who ask, decide, keep and audit. */
export interface Gate {
  readonly url: string;
  readonly dataDir: string;
  readonly keys: Readonly<Record<'worker' | 'approver' | 'admin' | 'auditor', string>>;
  /** The id of the worker's key. */
  readonly workerId: string;
  readonly approverId: string;
  call(path: string, call?: Call): Promise<Answer>;
  put(settings: Settings): Promise<Answer>;
  /** Submits a shell script that is expected to be held. */
  hold(script: string, more?: object): Promise<ExecAnswer>;
  see(execId: string): Promise<Approval>;
  decide(execId: string, decision: object, key?: string): Promise<Answer>;
  /** The exec, once it is over. */
  end(execId: string): Promise<ExecAnswer>;
}

export const shell = (script: string) => ({ kind: 'shell', command: 'bash', args: ['-lc', script] });

/** Everything has to be agreed to. */
export const everything: ApprovalSettings = { from_level: 'SAFE' };

export async function gateOf({ url, dataDir }: Pick<KeyedService, 'url' | 'dataDir'>): Promise<Gate> {
  const call = callsTo(url);
  const worker = await makeKey(dataDir, 'default', ['worker']);
  const approver = await makeKey(dataDir, 'default', ['approver']);
  const keys = {
    worker: worker.key,
    approver: approver.key,
    admin: (await makeKey(dataDir, 'default', ['admin'])).key,
    auditor: (await makeKey(dataDir, 'default', ['auditor'])).key,
  };
  const put = async (settings: Settings) => {
    const { version } = (await call('/settings', { key: keys.admin })).body as { version?: number };
    return call('/settings', {
      key: keys.admin,
      method: 'PUT',
      headers: { 'if-match': `"${version}"` },
      body: settings,
    });
  };
  const see = async (execId: string) =>
    (await call(`/approvals/${execId}`, { key: keys.approver })).body as unknown as Approval;
  return {
    url,
    dataDir,
    keys,
    workerId: worker.keyId,
    approverId: approver.keyId,
    call,
    put,
    see,
    hold: async (script, more = {}) => {
      const body = { project_id: 'p', exec: shell(script), ...more };
      const answer = await call('/sandbox/execs', { key: keys.worker, body });
      if (answer.status !== 202 || answer.body['status'] !== 'awaiting_approval')
        throw new Error(`${answer.status} ${answer.text}`);
      return answer.body as unknown as ExecAnswer;
    },
    decide: async (execId, decision, key = keys.approver) => {
      const { plan_hash } = await see(execId);
      return call(`/approvals/${execId}/decision`, { key, body: { plan_hash, ...decision } });
    },
    end: async (execId) => {
      for (;;) {
        const { body } = await call(`/sandbox/execs/${execId}`, { key: keys.worker });
        const exec = body as unknown as ExecAnswer;
        if (isFinal(exec.status)) return exec;
        await sleep(20);
      }
    },
  };
}
