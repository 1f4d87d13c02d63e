import { SecboxError, type ExecId, type ExecRecord, type ExecSubmission } from '@secbox/contracts';
import { HeldExecs } from './approval/held-execs.js';
import { Admission, type AdmissionLimits, type Reservation } from './admission.js';
import { Background } from './background.js';
import { canonicalJson } from './canonical-json.js';
import { clearEphemeral, clearUnrecorded } from './clear-invocations.js';
import {
  orderOf,
  requestedBy,
  requestedIn,
  type AnyExecRequest,
  type ExecKey,
  type ExecOrder,
  type SentInvocation,
  type SubmitOptions,
} from './exec-order.js';
import { contentsIn, projectOf, type ExecPlan, type ProjectKey } from './exec-plan.js';
import { endWithoutResult, failureOf, isLeft, recorded, stopping } from './exec-failure.js';
import { HandedOver, StopReason, Unrecorded } from './exec-outcome.js';
import { freshOf } from './fresh-exec.js';
import { Intake, type IntakeLimits } from './intake.js';
import { InputsGuard } from './inputs-guard.js';
import { Progress } from './progress.js';
import { ProjectGate } from './project-gate.js';
import { Planner, type RequestIdentity } from './planner.js';
import { recordEnd } from './record-end.js';
import { Recording, type RecordingOptions } from './recording.js';
import { removeLater, removeSpoolLater } from './remove-later.js';
import { runPlan, type PlanEnd } from './run-plan.js';
import type { ExecRunnerOptions } from './runner-options.js';
import type { Recovered } from './recover.js';
import { writeSealedPlan } from './sealed-plan.js';
import { OutputContracts } from './skill-output.js';
import { forgetImages } from './skill-run.js';
import { SubmitOnce, type WaitedEnd, type SubmittedExec } from './submit-once.js';
import { settledWithin } from './settled-within.js';
import { watchExec, type ExecEvent, type WatchPosition } from './watch-exec.js';

/** Most find a container that waits; one that does not start within this time is recorded as waiting. */
const startsAtOnceMs = 50;
/** How long a server that stops waits for an engine to remove what is not surely dead. */
const certainDeathMs = 10_000;

interface Underway {
  readonly stop: AbortController;
  started: boolean;
  readonly progress: Progress;
  /** Settles when the row has its final status; never rejects. */
  end: Promise<WaitedEnd>;
}

interface TakenExec {
  readonly plan: ExecPlan;
  readonly submission: ExecSubmission;
  readonly recording: Recording;
  readonly reservation: Reservation;
  readonly stop: AbortController;
  /** Lets go of its project. */
  readonly leave: () => void;
  /** Of those who follow it already. */
  readonly progress?: Progress;
}

export class ExecRunner {
  readonly #options: ExecRunnerOptions;
  readonly #admission: Admission;
  readonly #underway = new Map<ExecId, Underway>();
  readonly #once: SubmitOnce;
  readonly #inputsGuard = new InputsGuard();
  readonly #outputContracts = new OutputContracts();
  readonly #planner: Planner;
  readonly #intakes = new Set<ExecId>();
  readonly #gate = new ProjectGate();
  readonly #held: HeldExecs | undefined;
  readonly #background = new Background();
  readonly #abandon = new AbortController();
  #closing = false;

  constructor(options: ExecRunnerOptions) {
    this.#options = options;
    this.#admission = new Admission(options.admission);
    this.#planner = new Planner(options);
    const { approvals } = options;
    this.#held =
      approvals &&
      new HeldExecs({ ...options, approvals, gate: this.#gate, launch: (exec) => this.#resume(exec) });
    this.#once = new SubmitOnce({
      find: (tenant, key) => recorded(options.records.findByIdempotencyKey(tenant, key)),
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
    const id = execId as ExecId;
    return this.#underway.has(id) || this.#intakes.has(id) || this.#held?.has(id) === true;
  }

  /** Receives the files of a request that is still to be submitted; keeps none of one that is to be a repeat. */
  openIntake(limits: IntakeLimits, { isRepeat = false } = {}): Intake {
    const { workspace, disk } = this.#options;
    const intake = new Intake({
      workspace,
      limits,
      keep: !isRepeat,
      assertRoom: () => disk.assertRoom(),
      onClose: () => this.#intakes.delete(intake.execId),
    });
    this.#intakes.add(intake.execId);
    return intake;
  }

  /**
   * Records a request and lets it run when it is its turn; throws when it is refused. With a key, the same
   * request again is the same exec.
   */
  async submit(request: AnyExecRequest, options: SubmitOptions): Promise<SubmittedExec> {
    const { caller, idempotencyKey, intake } = options;
    const order = orderOf(request, options);
    const requestHash = this.#options.vault.fingerprint(canonicalJson(requestedIn(order)));
    const submitNew = () => this.#submitNew(order, { idempotencyKey: idempotencyKey ?? null, requestHash });
    const submitted = await (idempotencyKey === undefined
      ? submitNew()
      : this.#once.submit({ tenant: caller.tenant, key: idempotencyKey }, requestHash, submitNew));
    if (submitted.execId === order.execId) intake?.close();
    else await intake?.discard();
    return submitted;
  }

  /** Whether an exec has this key already. */
  async isTaken({ caller, idempotencyKey: key }: SubmitOptions): Promise<boolean> {
    if (key === undefined) return false;
    return (await recorded(this.#options.records.findByIdempotencyKey(caller.tenant, key))) !== undefined;
  }

  /** The exec that this became under its key before, whatever would be said of it now; throws when it was another. */
  async findEarlier(sent: AnyExecRequest | SentInvocation, options: SubmitOptions) {
    const { caller, idempotencyKey: key } = options;
    if (key === undefined) return undefined;
    const requestHash = this.#options.vault.fingerprint(canonicalJson(requestedBy(sent, options)));
    return this.#once.find({ tenant: caller.tenant, key }, requestHash);
  }

  /** Goes on with what an earlier server took on and never started. */
  async resume({ resumable, held }: Pick<Recovered, 'resumable' | 'held'>): Promise<void> {
    await this.#held?.adopt(held);
    for (const exec of resumable) {
      const stop = new AbortController();
      const leave = await this.#gate.enter(projectOf(exec.plan), stop);
      void this.#resume({ ...exec, stop, leave });
    }
  }

  #resume(exec: Omit<TakenExec, 'recording' | 'reservation'>): Promise<WaitedEnd> {
    const { plan, submission } = exec;
    const recording = Recording.ofEarlier(this.#recordingOf(plan, submission));
    return this.#launch({ ...exec, recording, reservation: this.#admission.reserveAgain(plan.tenant) });
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

  /** Runs `work` beside the project's execs; it is not removed meanwhile. */
  async whileKept<T>(project: ProjectKey, work: () => Promise<T>): Promise<T> {
    const leave = await this.#gate.enter(projectOf(project), new AbortController());
    try {
      return await work();
    } finally {
      leave();
    }
  }

  async #submitNew(order: ExecOrder, identity: RequestIdentity): Promise<SubmittedExec> {
    const planned = await this.#planner.plan(order, identity);
    this.#options.disk.assertRoom();
    const submissionOf = (of: ExecPlan) => this.#planner.submissionOf(of, identity, new Date());
    const plan = this.#held ? await this.#held.holdIfNeeded(planned, order, submissionOf) : planned;
    if (!plan) return this.#follow(planned.execId);
    const stop = new AbortController();
    const leave = await this.#gate.enter(projectOf(plan), stop);
    let recording: Recording;
    try {
      if (this.#closing) throw stopping();
      const submission = submissionOf(plan);
      const reservation = this.#admission.reserve(plan.tenant);
      recording = new Recording(this.#recordingOf(plan, submission));
      try {
        // What it brings changes its project before it starts, and nothing does that without a row.
        if (plan.inputs.length > 0) await recording.waits();
        else recording.waitAfter(startsAtOnceMs);
      } catch (error) {
        reservation.release();
        await this.#options.workspace.removeSpool(plan.execId);
        throw error;
      }
      void this.#launch({ plan, submission, recording, reservation, stop, leave });
    } catch (error) {
      leave();
      throw error;
    }
    await recording.there;
    return this.#follow(plan.execId);
  }

  #recordingOf(plan: ExecPlan, submission: ExecSubmission): RecordingOptions {
    const { workspace, vault, records } = this.#options;
    const keepPlan = () => writeSealedPlan(workspace, vault, plan);
    return { records, submission, contents: contentsIn(plan), keepPlan };
  }

  /** Sets an exec on its way, which ends when it cannot be recorded. */
  #launch(taken: TakenExec): Promise<WaitedEnd> {
    const { plan: whole, submission, recording, reservation, stop, leave } = taken;
    const { inputs, ...plan } = whole;
    let held = inputs;
    recording.there.catch(() => stop.abort(new Unrecorded()));
    const progress = taken.progress ?? new Progress();
    const underway: Underway = { stop, progress, started: false, end: Promise.resolve({}) };
    const { tenant, policy } = plan;
    const place = { tenant, project: projectOf(plan), memoryMb: policy.values.memory_mb, stop: stop.signal };
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
      outputContracts: this.#outputContracts,
      lookAgain: async (visible) => this.#held?.lookAgain(plan, visible),
      admit: (work) => reservation.admit(place, work),
      markRunning: async (start) => {
        // Before it is recorded, so that nobody hands it over meanwhile.
        underway.started = true;
        try {
          await recording.runs(start);
        } catch (error) {
          underway.started = false;
          if (this.#closing) stop.abort(new HandedOver());
          throw error;
        }
      },
      hasStarted: () => underway.started,
      abandon: this.#abandon.signal,
      inBackground: (work) => this.#background.add(work),
      onUncertain: (id, error) => {
        forgetImages(this.#options);
        const { logger } = this.#options;
        logger.error('exec.container_uncertain', { exec_id: plan.execId, container: id, error });
      },
      onLeftover: (id, error) => {
        this.#options.logger.warn('exec.container_left', { exec_id: plan.execId, container: id, error });
        removeLater(this.#options.engine, id);
      },
    }).finally(() => reservation.release());
    underway.end = this.#seal(plan, running, { submission, recording, leave }).finally(() => {
      this.#underway.delete(plan.execId);
      leave();
      progress.report();
    });
    this.#underway.set(plan.execId, underway);
    this.#held?.watch(plan, underway.end);
    if (this.#closing) stop.abort(new HandedOver());
    return underway.end;
  }

  /** An exec that is held, under way, or over. */
  #follow(execId: ExecId): SubmittedExec {
    const held = this.#held?.find(execId);
    const end = (this.#underway.get(execId) ?? held)?.end ?? Promise.resolve({});
    const longest = held ? 0 : Infinity;
    return { execId, wait: async (ms) => (await settledWithin(ms === Infinity ? longest : ms, end)) ?? {} };
  }

  /** Ends an exec that waits or runs, and gives its final row; one that is over already stays as it is. */
  async cancel(exec: ExecKey): Promise<ExecRecord> {
    await this.find(exec);
    const reason = new StopReason('cancelled', 'cancelled by a caller');
    await this.#held?.cancel(exec.execId, reason);
    const underway = this.#underway.get(exec.execId);
    underway?.stop.abort(reason);
    await underway?.end;
    return this.find(exec);
  }

  /** Follows an exec from a position on, until its end or until the watcher leaves. */
  async watch(exec: ExecKey, from: WatchPosition, signal: AbortSignal): Promise<AsyncIterable<ExecEvent>> {
    const { execId } = exec;
    const record = await this.find(exec);
    return watchExec({
      folders: { spool: this.#options.workspace.spoolOf(execId), artifacts: record.artifacts_path },
      find: () => this.find(exec),
      isRecorded: async (stream) =>
        (await this.#options.listed.findArtifact(exec, { path: `${stream}.txt` }))?.kind === stream,
      progress: (this.#underway.get(execId) ?? this.#held?.find(execId))?.progress,
      from,
      signal,
    });
  }

  /** An exec of another tenant is as one that does not exist. */
  async find({ tenant, execId }: ExecKey): Promise<ExecRecord> {
    const record = await recorded(this.#options.records.find(execId));
    if (record?.tenant !== tenant) throw new SecboxError('exec_not_found', `There is no exec ${execId}.`);
    return record;
  }

  /** Takes no new execs, leaves those that wait to the next server, lets running ones end within the grace, then ends them. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    forgetImages(this.#options);
    this.#held?.close();
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
    await settledWithin(certainDeathMs, this.#background.settled());
  }

  /** Gives the row its final status, however the run went. Whoever sees that finds the project left. */
  async #seal(
    plan: Pick<ExecPlan, 'execId' | 'tenant' | 'projectId'>,
    running: Promise<PlanEnd>,
    { submission, recording, leave }: Pick<TakenExec, 'submission' | 'recording' | 'leave'>,
  ): Promise<WaitedEnd> {
    const { records, workspace, logger } = this.#options;
    const log = logger.child({ exec_id: plan.execId });
    try {
      const outcome = await running.then(
        (end) => [end.ended, undefined, freshOf(submission, end)] as const,
        (error: unknown) => (isLeft(error) ? undefined : endWithoutResult(error, plan.execId)),
      );
      if (outcome === undefined) recording.refuse(stopping());
      if (!(await recording.ensure())) {
        await clearUnrecorded(workspace, plan, (error) => log.warn('exec.files_left', { error }));
        return {};
      }
      if (outcome === undefined) {
        log.info('exec.left_to_next_server', { project_id: plan.projectId });
        return {};
      }
      const [finished, failure, fresh] = outcome;
      if (failure?.kind === 'internal' || failure?.kind === 'unavailable')
        log.error('exec.error', { error: failure });
      clearEphemeral(workspace, plan, (error) => log.warn('exec.work_left', { error }));
      const end = await recordEnd({
        execId: plan.execId,
        finished,
        records,
        workspace,
        log,
        abandon: this.#abandon.signal,
      });
      if (end === 'spooled') return { failure };
      leave();
      this.#background.add(removeSpoolLater(workspace, plan.execId, log));
      log.info('exec.finished', {
        project_id: plan.projectId,
        status: finished.status,
        exit_code: finished.exit_code,
        duration_ms: finished.duration_ms,
      });
      return { failure, fresh };
    } catch (error) {
      log.error('exec.not_sealed', { error });
      return { failure: failureOf(error, plan.execId) };
    }
  }
}
