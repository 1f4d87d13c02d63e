import { newEvent, type Doer } from '@secbox/access';
import {
  neverRan,
  SecboxError,
  type Approval,
  type ApprovalDecision,
  type ApprovalListQuery,
  type ApprovalPage,
  type ApprovalSettings,
  type ApprovalSummary,
  type ExecId,
  type ExecSubmission,
  type FinishedExec,
  type SecurityEventType,
  type ShownPlan,
  type TenantId,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { RiskAssessor } from '@secbox/risk';
import type { ApprovalRecords, Settlement } from './approval-records.js';
import { requirementFor, type ApprovalSubject, type Requirement } from './approval-rules.js';
import type { ApprovalNews, ConfirmationService } from './confirmation-service.js';
import { Deadlines } from './deadlines.js';
import { neededWord, type Assessed, type NeededWord } from './needed-word.js';

export interface ApprovalsOptions {
  readonly records: ApprovalRecords;
  readonly assessor: Pick<RiskAssessor, 'assessCommand'>;
  /** As they are at this moment. */
  readonly settings: () => ApprovalSettings | undefined;
  readonly logger: Logger;
  readonly now: () => Date;
  /** A new name under which a webhook is to be told of something; undefined where none is. */
  readonly delivery: (tenant: string) => string | undefined;
  /** Told of those who tried to approve what they had asked for. */
  readonly onRefused: (caller: Decider) => void;
}

/** Who decides, and from where. */
export interface Decider extends Doer {
  readonly tenant: TenantId;
}

/** An exec that is about to wait for a human's word. */
export interface HeldExec {
  readonly submission: ExecSubmission;
  /** From where it was asked for, as far as that is known. */
  readonly address: string | null;
  /** The hashes of those of its inputs that are kept. */
  readonly contents: readonly string[];
  readonly plan: ShownPlan;
  readonly needed: NeededWord;
}

/** What became of a request: its exec may go on, or has its end. */
export type Settled = 'approved' | FinishedExec;

const defaultExpirySeconds = 86_400;
const defaultMaxPending = 1000;
const defaultLimit = 50;
const whatIsLost = 'What was to run was lost.';
const system: Doer = { actor: null, address: null };

/** Execs that wait for a human's word: who has to agree to what, what was shown, and what was decided, once. */
export class Approvals {
  readonly #options: ApprovalsOptions;
  readonly #services: ConfirmationService[] = [];
  readonly #pending = new Map<ExecId, string>();
  readonly #deadlines: Deadlines;
  #onSettled: (execId: ExecId, settled: Settled) => void = () => undefined;

  constructor(options: ApprovalsOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines({
      now: options.now,
      onDue: (approval) => this.#expire(approval),
      logger: options.logger,
    });
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  addService(service: ConfirmationService): void {
    this.#services.push(service);
  }

  /** Told once a decision, or what takes its place, is written. */
  onSettled(listener: (execId: ExecId, settled: Settled) => void): void {
    this.#onSettled = listener;
  }

  /** Undefined, at no cost, where nobody has to be asked. */
  requirement(subject: ApprovalSubject): Requirement | undefined {
    return requirementFor(this.#options.settings(), subject);
  }

  needed(requirement: Requirement, assessed: Assessed): Promise<NeededWord | undefined> {
    return neededWord(requirement, assessed, this.#options.assessor);
  }

  /** Records an exec as waiting. Whoever asked tells of it when it is ready to hear the answer. */
  async request({ submission, address, contents, plan, needed }: HeldExec): Promise<() => Promise<void>> {
    const { records, now } = this.#options;
    const { exec_id: execId, tenant, actor } = submission;
    this.#assertFew(tenant);
    const at = now();
    const expiry = this.#options.settings()?.expires_after_seconds ?? defaultExpirySeconds;
    const summary: ApprovalSummary = {
      approval_id: execId,
      exec_id: execId,
      tenant,
      project_id: submission.project_id,
      skill_id: submission.skill_id,
      requested_by: actor,
      requested_at: at.toISOString(),
      expires_at: new Date(at.getTime() + expiry * 1000).toISOString(),
      needed_because: needed.because,
      risk_level: needed.risk.level,
      plan_hash: submission.plan_hash,
      state: 'pending',
      decided_by: null,
      decided_through: null,
      decided_at: null,
      decision_reason: null,
    };
    const details = { because: needed.because, risk_level: summary.risk_level, plan_hash: summary.plan_hash };
    const about = { tenant, subject: execId, details };
    const event = newEvent('approval_requested', { actor, address }, about, at);
    const delivery = this.#options.delivery(tenant);
    this.#pending.set(execId, tenant);
    try {
      await records.insert(submission, contents, { ...summary, plan, risk: needed.risk }, event, delivery);
    } catch (error) {
      this.#pending.delete(execId);
      throw error;
    }
    this.#deadlines.add(summary);
    return () => this.#announce({ type: 'approval.requested', approval: summary }, delivery);
  }

  async list(
    tenant: TenantId,
    { state, cursor, limit = defaultLimit }: ApprovalListQuery,
  ): Promise<ApprovalPage> {
    const after = cursor === undefined ? undefined : Number(cursor);
    const { items, after: next } = await this.#options.records.list(tenant, { state, after, limit });
    return { approvals: items, next_cursor: next === undefined ? null : String(next) };
  }

  /** One of another tenant is as one that does not exist. */
  async find(tenant: TenantId, execId: ExecId): Promise<Approval> {
    const found = await this.#options.records.find(tenant, execId);
    if (!found) throw new SecboxError('approval_not_found', `There is no approval ${execId}.`);
    return found;
  }

  /** Decides, once: whoever comes later, or at the same time and second, is told that it was decided. */
  async decide(caller: Decider, execId: ExecId, decision: ApprovalDecision): Promise<Approval> {
    const approval = await this.find(caller.tenant, execId);
    if (caller.actor !== null && caller.actor === approval.requested_by) {
      this.#options.onRefused(caller);
      throw new SecboxError('approval_by_requester', 'The key that asked for an exec cannot decide on it.');
    }
    if (approval.state !== 'pending') throw alreadySettled(approval);
    if (approval.plan_hash !== decision.plan_hash) {
      throw new SecboxError(
        'approval_plan_mismatch',
        'plan_hash is not that of this approval: decide on what you have seen.',
        { details: { plan_hash: approval.plan_hash } },
      );
    }
    return this.#settleByWord(approval, decision, caller, 'api');
  }

  /** Agrees without anybody having looked; the row says so. */
  approveAutomatically(approval: ApprovalSummary): Promise<unknown> {
    const reason = 'Approved by nobody: Settings have approvals.auto_approve, for development.';
    return this.#settleByWord(approval, { decision: 'approve', reason }, system, 'auto-approve');
  }

  /** For an exec that was cancelled while it waited. False when it does not wait any more. */
  withdraw(execId: ExecId, ended: FinishedExec): Promise<boolean> {
    return this.#settle(execId, 'approval_withdrawn', {
      settlement: { ...nobody(this.#options.now()), state: 'withdrawn', decision_reason: ended.error_reason },
      next: ended,
      by: system,
    });
  }

  /** For a word that cannot hold: what was to run is not what was shown. */
  async makeVoid(tenant: string, execId: ExecId, reason: string): Promise<void> {
    const { records, now } = this.#options;
    const about = { tenant, subject: execId, details: { reason } };
    const delivery = this.#options.delivery(tenant);
    const event = newEvent('approval_void', system, about, now());
    const isVoid = await records.makeVoid(execId, event, delivery);
    this.#forget(execId);
    if (isVoid) await this.#tell(tenant as TenantId, execId, delivery);
  }

  /** Goes on with what waited when the server before ended; `held` are the execs that can still be run. */
  async begin(held: ReadonlySet<ExecId>): Promise<void> {
    const { records } = this.#options;
    // Whichever server ended the exec may have ended itself before it could say so.
    for (const { tenant, exec_id: execId, error_reason: reason } of await records.givenInVain())
      await this.makeVoid(tenant, execId, reason ?? whatIsLost);
    for (const approval of await records.pending()) {
      const { exec_id: execId, tenant } = approval;
      if (held.has(execId)) {
        this.#pending.set(execId, tenant);
        this.#deadlines.add(approval);
      } else {
        await this.makeVoid(tenant, execId, whatIsLost);
      }
    }
  }

  close(): void {
    this.#deadlines.close();
  }

  async #settleByWord(
    approval: ApprovalSummary,
    { decision, reason }: Pick<ApprovalDecision, 'decision' | 'reason'>,
    by: Doer,
    through: NonNullable<ApprovalSummary['decided_through']>,
  ): Promise<Approval> {
    const { exec_id: execId, tenant } = approval;
    const at = this.#options.now();
    const denied = `denied by an approver${reason === undefined ? '' : `: ${reason}`}`;
    await this.#settle(execId, 'approval_decided', {
      settlement: {
        state: decision === 'approve' ? 'approved' : 'denied',
        decided_by: by.actor,
        decided_through: through,
        decided_at: at.toISOString(),
        decision_reason: reason ?? null,
      },
      next: decision === 'approve' ? 'queued' : neverRan('rejected', denied, at),
      by,
      tenant,
      details: { decision, through, plan_hash: approval.plan_hash },
    }).then(async (won) => {
      if (!won) throw alreadySettled(await this.find(tenant as TenantId, execId));
    });
    return this.find(tenant as TenantId, execId);
  }

  async #expire({ exec_id: execId, tenant, expires_at }: ApprovalSummary): Promise<void> {
    const at = this.#options.now();
    await this.#settle(execId, 'approval_expired', {
      settlement: { ...nobody(at), state: 'expired' },
      next: neverRan('rejected', `nobody approved it before ${expires_at}`, at),
      by: system,
      tenant,
    });
  }

  async #settle(
    execId: ExecId,
    type: SecurityEventType,
    { settlement, next, by, details = {}, ...more }: Settling,
  ): Promise<boolean> {
    const { records, now } = this.#options;
    const tenant = more.tenant ?? this.#pending.get(execId) ?? null;
    const event = newEvent(
      type,
      by,
      { tenant, subject: execId, details: { ...details, reason: settlement.decision_reason } },
      now(),
    );
    const delivery = tenant === null ? undefined : this.#options.delivery(tenant);
    const won = await records.settle(execId, settlement, next, event, delivery);
    if (!won) return false;
    this.#forget(execId);
    this.#onSettled(execId, next === 'queued' ? 'approved' : next);
    if (tenant !== null) await this.#tell(tenant as TenantId, execId, delivery);
    return true;
  }

  /** What is written is decided, whoever does not hear of it. */
  async #tell(tenant: TenantId, execId: ExecId, delivery: string | undefined): Promise<void> {
    try {
      const { plan: _, risk: __, ...approval } = await this.find(tenant, execId);
      await this.#announce({ type: 'approval.settled', approval }, delivery);
    } catch (error) {
      this.#options.logger.warn('approval.not_announced', { exec_id: execId, error });
    }
  }

  /** Settles when whoever decides at once has done so. */
  async #announce(news: ApprovalNews, delivery: string | undefined): Promise<void> {
    await Promise.all(this.#services.map(async (service) => service.announce(news, delivery)));
  }

  #forget(execId: ExecId): void {
    this.#pending.delete(execId);
    this.#deadlines.remove(execId);
  }

  #assertFew(tenant: string): void {
    const most = this.#options.settings()?.max_pending ?? defaultMaxPending;
    let count = 0;
    for (const each of this.#pending.values()) if (each === tenant) count += 1;
    if (count < most) return;
    throw new SecboxError('too_many_approvals', `${most} execs wait for an approval already.`, {
      details: { max_pending: most, retry_after_seconds: 60 },
    });
  }
}

interface Settling {
  readonly settlement: Settlement;
  readonly next: 'queued' | FinishedExec;
  readonly by: Doer;
  readonly tenant?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function nobody(at: Date) {
  return { decided_by: null, decided_through: null, decided_at: at.toISOString(), decision_reason: null };
}

function alreadySettled({ state, decided_at, expires_at }: ApprovalSummary): SecboxError {
  // One that nobody took out of its state in time has expired, whether that is written yet or not.
  if (state === 'expired' || state === 'pending') {
    return new SecboxError('approval_expired', `The approval expired at ${expires_at}.`, {
      details: { expires_at },
    });
  }
  return new SecboxError('approval_decided', `The approval is ${state} already.`, {
    details: { state, decided_at },
  });
}
