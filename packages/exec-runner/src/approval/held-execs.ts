import type { Approvals, HeldExec, Requirement, Settled } from '@secbox/approvals';
import {
  isFinal,
  neverRan,
  SecboxError,
  type ExecId,
  type ExecRecord,
  type ExecSubmission,
} from '@secbox/contracts';
import type { VisibleInput } from '@secbox/workspace';
import { canonicalJson } from '../canonical-json.js';
import { recorded } from '../exec-failure.js';
import { StopReason, withoutResult } from '../exec-outcome.js';
import type { ExecOrder } from '../exec-order.js';
import { contentsIn, projectOf, skillIdOf, type ExecPlan } from '../exec-plan.js';
import { pause } from '../pause.js';
import { Progress } from '../progress.js';
import type { ProjectGate } from '../project-gate.js';
import { planOf, type ResumableExec } from '../recover.js';
import type { ExecRunnerOptions } from '../runner-options.js';
import { writeSealedPlan } from '../sealed-plan.js';
import type { WaitedEnd } from '../submit-once.js';
import { expectedSkill } from './expected-skill.js';
import { isAsLookedAt, lookedAt } from './looked-at.js';
import { assessedOf, shownPlan, viewInputs } from './shown-plan.js';

/** An exec that may run now. */
export interface ReleasedExec extends ResumableExec {
  readonly stop: AbortController;
  readonly leave: () => void;
  /** Of those who have followed it since it was held. */
  readonly progress: Progress;
}

export interface HeldExecsOptions extends Pick<
  ExecRunnerOptions,
  'workspace' | 'records' | 'vault' | 'logger' | 'layered'
> {
  readonly approvals: Approvals;
  readonly gate: ProjectGate;
  /** Sets it on its way, and gives its end. */
  readonly launch: (exec: ReleasedExec) => Promise<WaitedEnd>;
}

interface Held extends Pick<ReleasedExec, 'stop' | 'leave' | 'progress'> {
  readonly tenant: string;
  readonly end: Promise<WaitedEnd>;
  readonly settle: (end: WaitedEnd | Promise<WaitedEnd>) => void;
  /** Settles when it is not held any more: over, or on its way. */
  readonly gone: Promise<unknown>;
  readonly go: (nothing: undefined) => void;
  decided: boolean;
}

/**
 * Execs that wait for a human's word. All that they need lies sealed in their spool, so that any number may wait, for
 * days and past the end of a server; what runs afterwards is read from there, and is what was shown or nothing.
 */
export class HeldExecs {
  readonly #options: HeldExecsOptions;
  readonly #held = new Map<ExecId, Held>();
  readonly #closing = new AbortController();

  constructor(options: HeldExecsOptions) {
    this.#options = options;
    options.approvals.onSettled((execId, settled) => this.#settled(execId, settled));
  }

  has(execId: ExecId): boolean {
    return this.#held.has(execId);
  }

  find(execId: ExecId): Pick<Held, 'end' | 'progress'> | undefined {
    return this.#held.get(execId);
  }

  /** The plan to run; undefined when the exec is held, as a human has to agree first. Where nobody is to be asked it costs nothing. */
  holdIfNeeded(
    plan: ExecPlan,
    { skill, address = null }: Pick<ExecOrder, 'skill' | 'address'>,
    submissionOf: (plan: ExecPlan) => ExecSubmission,
  ): Promise<ExecPlan | undefined> | ExecPlan {
    const requirement = this.#options.approvals.requirement({
      tenant: plan.tenant,
      skillId: skillIdOf(plan),
      skillAsks: skill?.asksApproval ?? false,
    });
    if (!requirement) return plan;
    if (this.#closing.signal.aborted) throw new SecboxError('shutting_down', 'The server is stopping.');
    return this.#hold(plan, requirement, address, submissionOf);
  }

  /**
   * For one that nobody had to agree to, in its turn, when nobody changes inputs any more: throws `input_changed` if what it
   * runs is not what was looked at, and somebody would have to now.
   */
  async lookAgain(plan: Omit<ExecPlan, 'inputs'>, visible: readonly VisibleInput[]): Promise<void> {
    if (isAsLookedAt(plan, visible)) return;
    const { approvals, workspace } = this.#options;
    const subject = { tenant: plan.tenant, skillId: skillIdOf(plan), skillAsks: false };
    const fromLevel = approvals.requirement(subject)?.fromLevel;
    const view = await viewInputs(workspace, { ...plan, inputs: [] });
    const needed = await approvals.needed({ always: undefined, fromLevel }, assessedOf(plan, view));
    if (!needed) return;
    throw new SecboxError(
      'input_changed',
      `Inputs that the exec runs were changed while it waited, and now a human has to agree: ${needed.because} It was not run; send it again.`,
    );
  }

  /** The plan, with nothing done, of one that nobody has to agree to. */
  async #hold(
    plan: ExecPlan,
    requirement: Requirement,
    address: string | null,
    submissionOf: (plan: ExecPlan) => ExecSubmission,
  ): Promise<ExecPlan | undefined> {
    const { approvals, workspace, gate, vault } = this.#options;
    const first = await viewInputs(workspace, plan);
    const needed = await approvals.needed(requirement, assessedOf(plan, first));
    if (!needed) return { ...plan, ...lookedAt(plan, first.expects) };
    const stop = new AbortController();
    const leave = await gate.enter(projectOf(plan), stop);
    try {
      // Seen again by those who are inside: nothing of the project is removed from here on.
      const view = await viewInputs(workspace, plan);
      const { expects, shown } = view;
      const isSame = canonicalJson(expects) === canonicalJson(first.expects);
      // What is told of it is of what is shown.
      const word = isSame
        ? needed
        : ((await approvals.needed(requirement, assessedOf(plan, view))) ?? needed);
      const held = { ...plan, expects, ...(await expectedSkill(this.#options, plan)) };
      const submission = submissionOf(held);
      const seen = shownPlan(held, submission, shown, (text) => vault.fingerprint(text));
      await this.#record(held, { submission, address, plan: seen, needed: word }, { stop, leave });
    } catch (error) {
      leave();
      throw error;
    }
    return undefined;
  }

  /** Those that waited when the server before ended. */
  async adopt(execs: readonly ResumableExec[]): Promise<void> {
    const { approvals, gate } = this.#options;
    for (const { plan } of execs) {
      const stop = new AbortController();
      this.#add(plan, { stop, leave: await gate.enter(projectOf(plan), stop) });
    }
    await approvals.begin(new Set(execs.map(({ plan }) => plan.execId)));
  }

  /** Ends one that waits; one that was decided meanwhile is on its way, or over, afterwards. */
  async cancel(execId: ExecId, reason: StopReason): Promise<void> {
    const held = this.#held.get(execId);
    if (!held) return;
    const ended = neverRan(reason.status, reason.message, new Date());
    await recorded(this.#options.approvals.withdraw(execId, ended));
    await held.gone;
  }

  /** One that is refused at its turn, or cannot be started, makes the approval void: it is for nothing else. */
  watch(
    { execId, tenant, expects }: Pick<ExecPlan, 'execId' | 'tenant' | 'expects'>,
    end: Promise<WaitedEnd>,
  ): void {
    if (!expects) return;
    const { approvals, records } = this.#options;
    const look = async () => {
      const record = await records.find(execId);
      if (record && isInVain(record)) await approvals.makeVoid(tenant, execId, record.error_reason ?? '');
    };
    void end.then(({ failure }) => (failure ? this.#surely(look, 'approval.not_void', execId) : undefined));
  }

  /** Nobody is kept waiting; the next server goes on with them. */
  close(): void {
    this.#closing.abort();
    for (const { settle } of this.#held.values()) settle({});
  }

  async #record(
    plan: ExecPlan,
    asked: Omit<HeldExec, 'contents'>,
    place: Pick<Held, 'stop' | 'leave'>,
  ): Promise<void> {
    const { approvals, workspace, vault } = this.#options;
    let announce: () => Promise<void>;
    // Before its row: whoever sees that may decide at once.
    const held = this.#add(plan, place);
    try {
      await writeSealedPlan(workspace, vault, plan, { durable: true });
      announce = await recorded(approvals.request({ ...asked, contents: contentsIn(plan) }));
    } catch (error) {
      this.#held.delete(plan.execId);
      held.go(undefined);
      await workspace.removeSpool(plan.execId);
      throw error;
    }
    const { reason } = held.stop.signal as { reason: unknown };
    if (reason instanceof StopReason) await this.cancel(plan.execId, reason);
    else await announce();
    // Where it was decided at once, whoever asked finds it on its way.
    if (held.decided) await held.gone;
  }

  #add({ execId, tenant }: ExecPlan, { stop, leave }: Pick<Held, 'stop' | 'leave'>): Held {
    const [end, settle] = promised<WaitedEnd>();
    const [gone, go] = promised<undefined>();
    const held = { tenant, stop, leave, progress: new Progress(), end, settle, gone, go, decided: false };
    this.#held.set(execId, held);
    stop.signal.addEventListener('abort', () => {
      const { reason } = stop.signal as { reason: unknown };
      if (!this.#held.has(execId) || !(reason instanceof StopReason)) return;
      void this.#cancelSurely(execId, reason);
    });
    return held;
  }

  /** Somebody waits for its end who cannot ask again. */
  async #cancelSurely(execId: ExecId, reason: StopReason): Promise<void> {
    await this.#surely(() => this.cancel(execId, reason), 'approval.not_withdrawn', execId);
  }

  /** Tries until it is done; what is not when the server stops is found by the next. */
  async #surely(work: () => Promise<void>, warning: string, execId: ExecId): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        this.#options.logger.warn(warning, { exec_id: execId, error });
      }
      await pause(tryAgainMs, this.#closing.signal);
    }
  }

  /** The database has decided; what is left is to do it. */
  #settled(execId: ExecId, settled: Settled): void {
    const held = this.#held.get(execId);
    if (!held) return;
    held.decided = true;
    const done = settled === 'approved' ? this.#release(execId, held) : this.#discard(execId, held);
    void done.finally(() => {
      this.#held.delete(execId);
      held.go(undefined);
      held.progress.report();
    });
  }

  async #discard(execId: ExecId, held: Held): Promise<void> {
    await this.#options.workspace.removeSpool(execId).catch((error: unknown) => {
      this.#options.logger.warn('exec.spool_left', { exec_id: execId, error });
    });
    held.leave();
    held.settle({});
  }

  /** Only the very plan that was approved is run. */
  async #release(execId: ExecId, held: Held): Promise<void> {
    const { records, logger, launch } = this.#options;
    const { stop, leave, progress } = held;
    for (let told = false; !this.#closing.signal.aborted; told = true) {
      try {
        const record = await records.find(execId);
        const plan = record && (await planOf(this.#options, record));
        if (plan) held.settle(launch({ plan, submission: record, stop, leave, progress }));
        else await this.#refuse(execId, held, record);
        return;
      } catch (error) {
        // A database that does not answer will; if not to us, the next server finds its row.
        if (!told) logger.error('approval.not_released', { exec_id: execId, error });
      }
      await pause(tryAgainMs, this.#closing.signal);
    }
    leave();
  }

  /** Each step can be done again when a later one fails. */
  async #refuse(execId: ExecId, held: Held, record: ExecRecord | undefined): Promise<void> {
    const { records, approvals } = this.#options;
    const reason = 'The plan that was approved is not there any more, or was changed; it was not run.';
    await approvals.makeVoid(held.tenant, execId, reason);
    if (record && !isFinal(record.status))
      await records.finish(execId, withoutResult('rejected', reason, new Date()));
    await this.#discard(execId, held);
  }
}

const tryAgainMs = 1000;

/** Whether it is over without having started, and nobody had asked for that. */
function isInVain({ status, started_at }: ExecRecord): boolean {
  return (status === 'rejected' || status === 'error') && started_at === null;
}

function promised<T>(): [Promise<T>, (value: T | Promise<T>) => void] {
  let settle!: (value: T | Promise<T>) => void;
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  });
  return [promise, settle];
}
