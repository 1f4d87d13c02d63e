import { parseExecId, parseProjectId, type Approval, type ApprovalSummary } from '@secbox/contracts';
import type { Selectable } from 'kysely';
import type { ApprovalsTable } from './tables.js';

/** As lists have it: what approvers see may be large. */
export const summaryColumns = [
  'seq',
  'exec_id',
  'tenant',
  'project_id',
  'skill_id',
  'requested_by',
  'requested_at',
  'expires_at',
  'needed_because',
  'risk_level',
  'plan_hash',
  'state',
  'decided_by',
  'decided_through',
  'decided_at',
  'decision_reason',
] as const;

/** What an approver was shown. */
export function fromShown(shown: string): Pick<Approval, 'plan' | 'risk'> {
  const { plan, risk } = JSON.parse(shown) as Pick<Approval, 'plan' | 'risk'>;
  // Twice, so that what it has stays in its order.
  return { plan: { ...plan, ...shownLater, ...plan }, risk };
}

/** Rows of earlier versions do not have it. */
const shownLater = {
  stdin_hash: null,
  unseen: null,
  skill_version: null,
  skill_source: null,
  user_id: null,
  agent_id: null,
  sandbox_type: null,
} as const;

export function fromApprovalRow({
  seq: _,
  ...row
}: Omit<Selectable<ApprovalsTable>, 'shown'>): ApprovalSummary {
  const execId = parseExecId(row.exec_id);
  return { approval_id: execId, ...row, exec_id: execId, project_id: parseProjectId(row.project_id) };
}
