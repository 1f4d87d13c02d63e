import {
  defaultTenant,
  SecboxError,
  type EndedExec,
  type ExecId,
  type ExecRecord,
  type ExecRequest,
  type ExecSubmission,
} from '@secbox/contracts';
import type { ContainerId } from '@secbox/container-engine';
import { mergePolicy } from '@secbox/policy';
import { Admission, type AdmissionLimits, type Reservation } from './admission.js';
import { canonicalJson } from './canonical-json.js';
import { orderOf, requestedIn, type ExecOrder } from './exec-order.js';
import {
  contentsIn,
  decidedIn,
  planExec,
  projectOf,
  submissionOf,
  type ExecPlan,
  type ProjectKey,
} from './exec-plan.js';
import { endWithoutResult, failureOf, isLeft, recorded } from './exec-failure.js';
import { HandedOver, StopReason, withoutResult } from './exec-outcome.js';
import { Intake, type IntakeLimits } from './intake.js';
import { InputsGuard } from './inputs-guard.js';
import { Progress } from './progress.js';
import { ProjectGate } from './project-gate.js';
import { recordEnd } from './record-end.js';
import { runPlan } from './run-plan.js';
import type { ExecRunnerOptions } from './runner-options.js';
import type { ResumableExec } from './recover.js';
import { writeSealedPlan } from './sealed-plan.js';
import { SubmitOnce, type SubmittedExec } from './submit-once.js';
import { settledWithin } from './settled-within.js';
import { watchExec, type ExecEvent, type WatchPosition } from './watch-exec.js';

const removeAgainMs = 5000;
const removeTries = 20;
/** How long a server that stops waits for an engine to remove what is not surely dead. */
const certainDeathMs = 10_000;

interface RequestIdentity {
  readonly idempotencyKey: string | null;
  readonly requestHash: string;
}

interface Underway {
  readonly stop: AbortController;
  started: boolean;
  readonly progress: Progress;
  /** Settles when the row has its final status; never rejects. */
  end: Promise<SecboxError | undefined>;
}

interface RecordedExec {
  readonly plan: ExecPlan;
  readonly submission: ExecSubmission;
  readonly reservation: Reservation;
  readonly stop: AbortController;
  /** Lets go of its project. */
  readonly leave: () => void;
}

/** What comes with a request beside its body. */
export interface SubmitOptions {
  readonly idempotencyKey?: string | undefined;
  /** The files that were received with it; discarded when the request was there before, the caller's when it is refused. */
  readonly intake?: Intake | undefined;
}

export class ExecRunner {
  readonly #options: ExecRunnerOptions;
  readonly #admission: Admission;
  readonly #underway = new Map<ExecId, Underway>();
  readonly #once: SubmitOnce;
  readonly #inputsGuard = new InputsGuard();
  readonly #intakes = new Set<ExecId>();
  readonly #gate = new ProjectGate();
  readonly #background = new Set<Promise<void>>();
  readonly #abandon = new AbortController();
  #closing = false;

  constructor(options: ExecRunnerOptions) {
    this.#options = options;
    this.#admission = new Admission(options.admission);
    this.#once = new SubmitOnce({
      find: (key) => recorded(options.records.findByIdempotencyKey(defaultTenant, key)),
      follow: (execId) => this.#follow(execId),
    });
  }

  /** How many execs wait and run at this moment. */
  get load(): { readonly queued: number; readonly running: number } {
    return { queued: this.#admission.queued, running: this.#admission.running };
  }

  /** New limits for those who wait and come. */
  limit(limits: AdmissionLimits): void {
    this.#admission.update(limits);
  }

  /** Whether this server is at it: receives it, lets it wait, or runs it. */
  isUnderway(execId: string): boolean {
    return this.#underway.has(execId as ExecId) || this.#intakes.has(execId as ExecId);
  }

  /** Receives the files of a request that is still to be submitted. */
  openIntake(limits: IntakeLimits): Intake {
    const intake = new Intake(this.#options.workspace, limits, () => this.#intakes.delete(intake.execId));
    this.#intakes.add(intake.execId);
    return intake;
  }

  /**
   * Records a request and lets it run when it is its turn; throws when it is refused. With a key, the same
   * request again is the same exec.
   */
  async submit(request: ExecRequest, { idempotencyKey, intake }: SubmitOptions = {}): Promise<SubmittedExec> {
    const order = orderOf(request, intake);
    const requestHash = this.#options.vault.fingerprint(canonicalJson(requestedIn(order)));
    const submitNew = () => this.#submitNew(order, { idempotencyKey: idempotencyKey ?? null, requestHash });
    const submitted = await (idempotencyKey === undefined
      ? submitNew()
      : this.#once.submit(idempotencyKey, requestHash, submitNew));
    if (submitted.execId === order.execId) intake?.close();
    else await intake?.discard();
    return submitted;
  }

  /** Goes on with what an earlier server took on and never started. */
  async resume(execs: readonly ResumableExec[]): Promise<void> {
    for (const { plan, submission } of execs) {
      const stop = new AbortController();
      const leave = await this.#gate.enter(projectOf(plan), stop);
      this.#launch({ plan, submission, reservation: this.#admission.reserveAgain(), stop, leave });
    }
  }

  /**
   * Runs `work` while the project has no exec that waits or runs; those that come meanwhile wait for it. Throws
   * `project_in_use` when it has one, unless these are to be cancelled first.
   */
  whileUnused<T>(
    project: ProjectKey,
    work: () => Promise<T>,
    { cancel = false }: { readonly cancel?: boolean } = {},
  ): Promise<T> {
    const reason = new StopReason('cancelled', 'cancelled because its project is removed');
    return this.#gate.alone(projectOf(project), work, cancel ? reason : undefined);
  }

  async #submitNew(order: ExecOrder, identity: RequestIdentity): Promise<SubmittedExec> {
    const { workspace, vault, records } = this.#options;
    const plan = await this.#plan(order, identity);
    await this.#options.disk.assertRoom();
    const stop = new AbortController();
    const leave = await this.#gate.enter(projectOf(plan), stop);
    try {
      if (this.#closing)
        throw new SecboxError('shutting_down', 'The server is stopping and takes no new execs.');
      const submission = this.#submissionOf(plan, identity, new Date());
      const reservation = this.#admission.reserve();
      try {
        await writeSealedPlan(workspace, vault, plan);
        await recorded(records.insert(submission, contentsIn(plan)));
      } catch (error) {
        reservation.release();
        await workspace.removeSpool(plan.execId);
        throw error;
      }
      this.#launch({ plan, submission, reservation, stop, leave });
    } catch (error) {
      leave();
      throw error;
    }
    return this.#follow(plan.execId);
  }

  /** Sets a recorded exec on its way. */
  #launch({ plan: { inputs, ...plan }, submission, reservation, stop, leave }: RecordedExec): void {
    let held = inputs;
    const progress = new Progress();
    const underway: Underway = { stop, progress, started: false, end: Promise.resolve(undefined) };
    const place = { project: projectOf(plan), memoryMb: plan.policy.values.memory_mb, stop: stop.signal };
    const running = runPlan({
      ...this.#options,
      plan,
      takeInputs: () => {
        const taken = held;
        held = [];
        return taken;
      },
      submission,
      stop: stop.signal,
      end: (reason) => stop.abort(reason),
      progress,
      inputsGuard: this.#inputsGuard,
      admit: (work) => reservation.admit(place, work),
      markRunning: async (start) => {
        // Before it is recorded, so that nobody hands it over meanwhile.
        underway.started = true;
        try {
          await recorded(this.#options.records.markRunning(plan.execId, start));
        } catch (error) {
          underway.started = false;
          if (this.#closing) stop.abort(new HandedOver());
          throw error;
        }
      },
      hasStarted: () => underway.started,
      abandon: this.#abandon.signal,
      inBackground: (work) => this.#inBackground(work),
      onUncertain: (id, error) =>
        this.#options.logger.error('exec.container_uncertain', {
          exec_id: plan.execId,
          container: id,
          error,
        }),
      onLeftover: (id, error) => this.#removeLater(id, plan.execId, error),
    }).finally(() => reservation.release());
    underway.end = this.#seal(plan, running, leave).finally(() => {
      this.#underway.delete(plan.execId);
      leave();
      progress.report();
    });
    this.#underway.set(plan.execId, underway);
    if (this.#closing) stop.abort(new HandedOver());
  }

  /** An exec that is under way, or over. */
  #follow(execId: ExecId): SubmittedExec {
    const end = this.#underway.get(execId)?.end ?? Promise.resolve(undefined);
    return { execId, wait: (ms) => settledWithin(ms, end) };
  }

  #submissionOf(plan: ExecPlan, { idempotencyKey, requestHash }: RequestIdentity, now: Date): ExecSubmission {
    const { workspace, vault } = this.#options;
    return submissionOf(plan, {
      artifacts_path: workspace.foldersOf(plan).artifacts,
      idempotency_key: idempotencyKey,
      request_hash: requestHash,
      plan_hash: vault.fingerprint(canonicalJson(decidedIn(plan))),
      created_at: now.toISOString(),
    });
  }

  /** Ends an exec that waits or runs, and gives its final row; one that is over already stays as it is. */
  async cancel(execId: ExecId): Promise<ExecRecord> {
    const underway = this.#underway.get(execId);
    underway?.stop.abort(new StopReason('cancelled', 'cancelled by a caller'));
    await underway?.end;
    return this.find(execId);
  }

  /** Follows an exec from a position on, until its end or until the watcher leaves. */
  async watch(execId: ExecId, from: WatchPosition, signal: AbortSignal): Promise<AsyncIterable<ExecEvent>> {
    const record = await this.find(execId);
    return watchExec({
      folders: { spool: this.#options.workspace.spoolOf(execId), artifacts: record.artifacts_path },
      find: () => this.find(execId),
      progress: this.#underway.get(execId)?.progress,
      from,
      signal,
    });
  }

  async find(execId: ExecId): Promise<ExecRecord> {
    const record = await recorded(this.#options.records.find(execId));
    if (!record) throw new SecboxError('exec_not_found', `There is no exec ${execId}.`);
    return record;
  }

  /** Takes no new execs, leaves those that wait to the next server, lets running ones end within the grace, then ends them. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    for (const { stop, started } of this.#underway.values()) if (!started) stop.abort(new HandedOver());
    const ends = () => Promise.all([...this.#underway.values()].map(({ end }) => end));
    await settledWithin(graceMs, ends());
    for (const { stop } of this.#underway.values()) {
      stop.abort(new StopReason('error', 'interrupted: the server was stopped'));
    }
    await settledWithin(certainDeathMs, ends());
    // An engine that is gone may come back any time, or never: the next server ends what is left.
    this.#abandon.abort();
    await ends();
    await settledWithin(certainDeathMs, Promise.all(this.#background));
  }

  async #plan(order: ExecOrder, identity: RequestIdentity): Promise<ExecPlan> {
    const { engine, imageReference, capacity, policySettings } = this.#options;
    const settings = policySettings();
    const image = await engine.findImage(imageReference);
    if (!image) {
      throw new SecboxError(
        'image_missing',
        `The engine does not have the image ${imageReference}; run "npm run image".`,
      );
    }
    const planWith = (overrides: unknown) =>
      planExec(order, {
        imageReference,
        image,
        policy: mergePolicy({ engine: capacity, settings, overrides }),
      });
    try {
      return planWith(order.request.policy_overrides);
    } catch (error) {
      // Asking for more than is allowed is worth an auditor's look: it gets a row, under the policy it tried to leave.
      if (error instanceof SecboxError && error.code === 'policy_exceeded') {
        throw await this.#reject(planWith({}), identity, error);
      }
      throw error;
    }
  }

  async #reject(plan: ExecPlan, identity: RequestIdentity, error: SecboxError): Promise<SecboxError> {
    const { records } = this.#options;
    const now = new Date();
    // The key stays free: the same request may be allowed under other Settings.
    const submission = this.#submissionOf(plan, { ...identity, idempotencyKey: null }, now);
    await recorded(records.insert(submission));
    await recorded(records.finish(plan.execId, withoutResult('rejected', error.message, now)));
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, exec_id: plan.execId },
    });
  }

  #inBackground(work: Promise<void>): void {
    this.#background.add(work);
    void work.finally(() => this.#background.delete(work));
  }

  /** A dead container that the engine did not remove at once; what is left at the end is removed by the next start. */
  #removeLater(id: ContainerId, execId: ExecId, error: unknown): void {
    this.#options.logger.warn('exec.container_left', { exec_id: execId, container: id, error });
    const attempt = (triesLeft: number) => {
      const again = () => triesLeft > 0 && attempt(triesLeft - 1);
      setTimeout(() => void this.#options.engine.remove(id).catch(again), removeAgainMs).unref();
    };
    attempt(removeTries);
  }

  /** Gives the row its final status, however the run went. Whoever sees that finds the project left. */
  async #seal(
    plan: Pick<ExecPlan, 'execId' | 'projectId'>,
    running: Promise<EndedExec>,
    leave: () => void,
  ): Promise<SecboxError | undefined> {
    const { records, workspace, logger } = this.#options;
    const log = logger.child({ exec_id: plan.execId });
    try {
      const outcome = await running.then(
        (result) => [result, undefined] as const,
        (error: unknown) => (isLeft(error) ? undefined : endWithoutResult(error, plan.execId)),
      );
      if (outcome === undefined) {
        log.info('exec.left_to_next_server', { project_id: plan.projectId });
        return undefined;
      }
      const [finished, failure] = outcome;
      if (failure?.kind === 'internal' || failure?.kind === 'unavailable')
        log.error('exec.error', { error: failure });
      const end = await recordEnd({
        execId: plan.execId,
        finished,
        records,
        workspace,
        log,
        abandon: this.#abandon.signal,
      });
      if (end === 'spooled') return failure;
      leave();
      await workspace.removeSpool(plan.execId);
      log.info('exec.finished', {
        project_id: plan.projectId,
        status: finished.status,
        exit_code: finished.exit_code,
        duration_ms: finished.duration_ms,
      });
      return failure;
    } catch (error) {
      log.error('exec.not_sealed', { error });
      return failureOf(error, plan.execId);
    }
  }
}
