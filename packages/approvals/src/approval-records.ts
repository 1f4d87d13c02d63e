import type {
  Approval,
  ApprovalState,
  ApprovalSummary,
  ExecId,
  ExecSubmission,
  FinishedExec,
  SecurityEvent,
  TenantId,
} from '@secbox/contracts';

export type Settlement = Pick<
  ApprovalSummary,
  'decided_by' | 'decided_through' | 'decided_at' | 'decision_reason'
> & { readonly state: Exclude<ApprovalState, 'pending'> };

export interface WordInVain {
  readonly exec_id: ExecId;
  readonly tenant: string;
  readonly error_reason: string | null;
}

/** The part of the approval store that approvals need: each step in one transaction with its exec's row and its event. */
export interface ApprovalRecords {
  insert(
    submission: ExecSubmission,
    contents: readonly string[],
    approval: Approval,
    event: SecurityEvent,
    /** Names what a webhook is to be told of it. */
    delivery?: string,
  ): Promise<void>;
  /** False when it was not pending any more; then nothing is written. */
  settle(
    execId: ExecId,
    settlement: Settlement,
    next: 'queued' | FinishedExec,
    event: SecurityEvent,
    delivery?: string,
  ): Promise<boolean>;
  /** False when it was neither pending nor approved; then nothing is written. */
  makeVoid(execId: ExecId, event: SecurityEvent, delivery?: string): Promise<boolean>;
  find(tenant: TenantId, execId: ExecId): Promise<Approval | undefined>;
  list(
    tenant: TenantId,
    page: {
      readonly state?: ApprovalState | undefined;
      readonly after?: number | undefined;
      readonly limit: number;
    },
  ): Promise<{ readonly items: readonly ApprovalSummary[]; readonly after: number | undefined }>;
  pending(): Promise<ApprovalSummary[]>;
  /** Words for execs that ended without having started, though nobody cancelled them, and that are not void yet. */
  givenInVain(): Promise<readonly WordInVain[]>;
}
