import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newEvent } from '@secbox/access';
import {
  defaultTenant,
  newExecId,
  parseProjectId,
  type ApprovalSummary,
  type ExecSubmission,
  type TenantId,
} from '@secbox/contracts';
import { openDatabase, type Database } from '@secbox/database';

/** A database of its own for one test. */
export interface ApprovalsDatabase extends Pick<Database, 'deliveries'> {
  /** Writes an exec that waits for an approval, with what a webhook is to be told of it. */
  hold(delivery: string, at?: Date, tenant?: TenantId): Promise<ApprovalSummary>;
  remove(): Promise<void>;
}

export async function approvalsDatabase(): Promise<ApprovalsDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-approvals-'));
  const database = await openDatabase(join(folder, 'secbox.db'));
  return {
    deliveries: database.deliveries,
    hold: async (delivery, at = new Date(), tenant = defaultTenant) => {
      const submission = { ...submissionAt(at), tenant };
      const { exec_id: id, project_id, plan_hash } = submission;
      const summary: ApprovalSummary = {
        approval_id: id,
        exec_id: id,
        tenant,
        project_id,
        skill_id: null,
        requested_by: 'k',
        requested_at: at.toISOString(),
        expires_at: new Date(at.getTime() + 3_600_000).toISOString(),
        needed_because: 'a test',
        risk_level: 'HIGH',
        plan_hash,
        state: 'pending',
        decided_by: null,
        decided_through: null,
        decided_at: null,
        decision_reason: null,
      };
      const { cwd, env_keys, image, image_digest } = submission;
      const plan = {
        argv: ['true'],
        ...{ cwd, env_keys, image, image_digest },
        stdin_bytes: 0,
        stdin_hash: null,
        unseen: [],
        inputs: [],
        skill_digest: null,
        skill_version: null,
        skill_source: null,
        user_id: null,
        agent_id: null,
        sandbox_type: submission.sandbox_type,
        read_only_work: false,
        limits: submission.policy_snapshot.values,
      };
      const risk = { level: 'HIGH', findings: [], omitted: 0, complete: true } as const;
      const event = newEvent(
        'approval_requested',
        { actor: null, address: null },
        { tenant, subject: id, details: {} },
        at,
      );
      await database.approvals.insert(submission, [], { ...summary, plan, risk }, event, delivery);
      return summary;
    },
    remove: async () => {
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

function submissionAt(at: Date): ExecSubmission {
  const ceiling = { value: 1, layer: 'hard' } as const;
  const same = <Each>(each: Each) => ({
    timeout_ms: each,
    max_stdout_bytes: each,
    max_stderr_bytes: each,
    max_artifacts_bytes_total: each,
    memory_mb: each,
    cpu_cores: each,
    pids: each,
  });
  return {
    exec_id: newExecId(),
    tenant: defaultTenant,
    actor: 'k',
    project_id: parseProjectId('p'),
    task_id: null,
    conversation_id: null,
    skill_id: null,
    skill_digest: null,
    user_id: null,
    agent_id: null,
    kind: 'shell',
    sandbox_type: 'docker',
    image: 'i',
    image_digest: 'd',
    cmd: 'true',
    args: [],
    cwd: '/workspace/work',
    env_keys: [],
    policy_snapshot: {
      values: { net: { mode: 'none' }, ...same(1), read_only_root: true },
      ceilings: { ...same(ceiling), read_only_root: { value: true, layer: 'settings' } },
      sources: { 'net.mode': 'system', ...same('system' as const), read_only_root: 'system' },
      runtime: { value: 'runc', layer: 'engine' },
      settings_version: 1,
    },
    artifacts_path: '/',
    idempotency_key: null,
    request_hash: '0'.repeat(64),
    plan_hash: '0'.repeat(64),
    created_at: at.toISOString(),
  };
}
