import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Approvals, Settled } from '@secbox/approvals';
import { newExecId, SecboxError, type EndedExec, type ExecId, type ExecRecord } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, Workspace } from '@secbox/workspace';
import type { ExecPlan } from '../exec-plan.js';
import { ProjectGate } from '../project-gate.js';
import type { ExecRecords } from '../runner-options.js';
import type { WaitedEnd } from '../submit-once.js';
import { Vault } from '../vault.js';
import { HeldExecs } from './held-execs.js';

let folder: string;
let workspace: Workspace;
let gate: ProjectGate;
let row: { status: string; started_at: string | null; error_reason: string | null };
let voided: string[];
/** What fails, once each. */
let failing: Set<string>;
let settle: (execId: ExecId, settled: Settled) => void;
let held: HeldExecs;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-held-'));
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  workspace = await Workspace.open({ paths });
  gate = new ProjectGate();
  row = { status: 'queued', started_at: null, error_reason: null };
  voided = [];
  failing = new Set();
  const approvals: Pick<Approvals, 'onSettled' | 'begin' | 'makeVoid'> = {
    onSettled: (listener) => {
      settle = listener;
    },
    begin: () => Promise.resolve(),
    makeVoid: async (_tenant, _execId, reason) => {
      await failOnce('makeVoid');
      voided.push(reason);
    },
  };
  const records: Pick<ExecRecords, 'find' | 'finish'> = {
    find: () => Promise.resolve({ ...row, exec_id: id, plan_hash: 'p' } as unknown as ExecRecord),
    // As the store does: a row that has its end takes no other.
    finish: async (_execId: ExecId, { status, error_reason }: EndedExec) => {
      await failOnce('finish');
      if (row.status !== 'queued') throw new SecboxError('internal_error', 'It is over.');
      row = { ...row, status, error_reason };
      await failOnce('answer of finish');
    },
  };
  held = new HeldExecs({
    workspace,
    gate,
    logger,
    vault: new Vault(randomBytes(32)),
    approvals: approvals as Approvals,
    records: records as ExecRecords,
    launch: () => Promise.reject(new Error('nothing is to be launched')),
  });
});
afterEach(async () => {
  held.close();
  await rm(folder, { recursive: true, force: true });
});

async function failOnce(what: string): Promise<void> {
  await Promise.resolve();
  if (failing.delete(what)) throw new Error(`${what}: the database is locked`);
}

const logger = createLogger({
  level: 'error',
  format: 'json',
  destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
});
const id = newExecId();
const plan = { execId: id, tenant: 'default', projectId: 'p', expects: [] } as unknown as ExecPlan;
const voidReason = 'The inputs of the project were changed.';

test.each(['nothing', 'makeVoid', 'finish', 'answer of finish'])(
  'one whose plan is gone is refused, its word is void and its project free, where %s fails once',
  async (what) => {
    await held.adopt([{ plan, submission: {} as ExecRecord }]);
    failing.add(what);
    settle(id, 'approved');
    while (held.has(id)) await sleep(10);
    expect(row.status).toBe('rejected');
    expect(new Set(voided)).toEqual(new Set([row.error_reason]));
    expect(await gate.alone('default/p', () => Promise.resolve('free'))).toBe('free');
  },
);

test.each(['nothing', 'makeVoid'])(
  'one that is rejected at its turn: void, where %s fails once',
  async (what) => {
    failing.add(what);
    row = { status: 'rejected', started_at: null, error_reason: voidReason };
    held.watch(plan, ended(new SecboxError('approval_void', voidReason)));
    while (voided.length === 0) await sleep(10);
    expect(voided).toEqual([voidReason]);
  },
);

test.each([
  ['ran', { status: 'error', started_at: '2024-05-01T10:00:00.000Z' }, 'engine_unavailable'],
  ['waits on', { status: 'queued', started_at: null }, 'engine_unavailable'],
  ['was cancelled', { status: 'cancelled', started_at: null }, undefined],
] as const)('the word for one that %s holds', async (_, end, code) => {
  row = { ...end, error_reason: null };
  held.watch(plan, ended(code && new SecboxError(code, 'gone')));
  await sleep(20);
  expect(voided).toEqual([]);
});

function ended(failure: SecboxError | undefined): Promise<WaitedEnd> {
  return Promise.resolve({ failure });
}
