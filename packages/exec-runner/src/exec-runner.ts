import {
  SecboxError,
  type ExecId,
  type ExecRecord,
  type ExecRequest,
  type ExecSubmission,
  type FinishedExec,
} from '@secbox/contracts';
import { mergePolicy, type EngineCapacity } from '@secbox/policy';
import pLimit from 'p-limit';
import { planExec, submissionOf, type ExecPlan } from './exec-plan.js';
import { StopReason, withoutResult } from './exec-outcome.js';
import { runPlan } from './run-plan.js';
import type { ExecRunnerOptions } from './runner-options.js';

export class ExecRunner {
  readonly #options: ExecRunnerOptions;
  readonly #admit: ReturnType<typeof pLimit>;
  readonly #underway = new Map<ExecId, { readonly stop: AbortController; readonly end: Promise<unknown> }>();
  #closing = false;
  #capacity: EngineCapacity | undefined;

  constructor(options: ExecRunnerOptions) {
    this.#options = options;
    this.#admit = pLimit(options.maxConcurrentExecs);
  }

  /** Runs a request to its end and gives its row; throws when it was refused or could not be run. */
  async run(request: ExecRequest): Promise<ExecRecord> {
    if (this.#closing)
      throw new SecboxError('shutting_down', 'The server is stopping and takes no new execs.');
    const plan = await this.#plan(request);
    const { records, workspace } = this.#options;
    const { artifacts } = workspace.foldersOf(plan.projectId, plan.execId);
    const submission = submissionOf(plan, artifacts, new Date());
    await recorded(records.insert(submission));

    const stop = new AbortController();
    const end = this.#admit(() => this.#execute(plan, submission, stop.signal));
    this.#underway.set(plan.execId, { stop, end });
    try {
      await end;
    } finally {
      this.#underway.delete(plan.execId);
    }
    return this.#find(plan.execId);
  }

  /** Takes no new execs, lets running ones end within the grace, then ends them. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const ends = () => Promise.allSettled([...this.#underway.values()].map(({ end }) => end));
    const grace = new AbortController();
    const timer = setTimeout(() => grace.abort(), graceMs);
    await Promise.race([ends(), new Promise((resolve) => grace.signal.addEventListener('abort', resolve))]);
    clearTimeout(timer);
    for (const { stop } of this.#underway.values()) {
      stop.abort(new StopReason('error', 'interrupted: the server was stopped'));
    }
    await ends();
  }

  async #plan(request: ExecRequest): Promise<ExecPlan> {
    const { engine, imageReference } = this.#options;
    const [capacity, image] = await Promise.all([this.#engineCapacity(), engine.findImage(imageReference)]);
    if (!image) {
      throw new SecboxError(
        'image_missing',
        `The engine does not have the image ${imageReference}; run "npm run image".`,
      );
    }
    const planWith = (overrides: unknown) =>
      planExec(request, { imageReference, image, policy: mergePolicy({ engine: capacity, overrides }) });
    try {
      return planWith(request.policy_overrides);
    } catch (error) {
      // Asking for more than is allowed is worth an auditor's look: it gets a row, under the policy it tried to leave.
      if (error instanceof SecboxError && error.code === 'policy_exceeded')
        throw await this.#reject(planWith({}), error);
      throw error;
    }
  }

  /** Asked for once: an engine's machine does not change under it. */
  async #engineCapacity(): Promise<EngineCapacity> {
    if (!this.#capacity) {
      const { cpus, memoryBytes } = await this.#options.engine.info();
      this.#capacity = { cpus, memory_mb: Math.floor(memoryBytes / 1024 ** 2) };
    }
    return this.#capacity;
  }

  async #reject(plan: ExecPlan, error: SecboxError): Promise<SecboxError> {
    const { records, workspace } = this.#options;
    const now = new Date();
    const { artifacts } = workspace.foldersOf(plan.projectId, plan.execId);
    await recorded(records.insert(submissionOf(plan, artifacts, now)));
    await recorded(records.finish(plan.execId, withoutResult('rejected', error.message, now)));
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, exec_id: plan.execId },
    });
  }

  async #execute(plan: ExecPlan, submission: ExecSubmission, stop: AbortSignal): Promise<void> {
    const log = this.#options.logger.child({ exec_id: plan.execId });
    const { records, workspace } = this.#options;
    let finished: FinishedExec;
    let failure: SecboxError | undefined;
    try {
      finished = await runPlan({ ...this.#options, plan, submission, stop });
    } catch (error) {
      failure = failureOf(error, plan.execId);
      finished = withoutResult(
        failure.kind === 'invalid' ? 'rejected' : 'error',
        failure.message,
        new Date(),
      );
      if (failure.kind !== 'invalid') log.error('exec.error', { error });
    }
    await recorded(records.finish(plan.execId, finished));
    await workspace.removeSpool(plan.execId);
    log.info('exec.finished', {
      project_id: plan.projectId,
      status: finished.status,
      exit_code: finished.exit_code,
      duration_ms: finished.duration_ms,
    });
    if (failure) throw failure;
  }

  async #find(execId: ExecId): Promise<ExecRecord> {
    const record = await recorded(this.#options.records.find(execId));
    if (!record) throw new SecboxError('internal_error', `The row of exec ${execId} is gone.`);
    return record;
  }
}

/** A database that does not take a row is told as such, not as a fault of the request. */
async function recorded<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof SecboxError) throw error;
    throw new SecboxError(
      'database_unavailable',
      'The audit database does not answer; nothing was started.',
      {
        cause: error,
      },
    );
  }
}

function failureOf(error: unknown, execId: ExecId): SecboxError {
  const details = { exec_id: execId };
  if (error instanceof StopReason) return new SecboxError('shutting_down', error.message, { details });
  if (error instanceof SecboxError) {
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, ...details },
      cause: error,
    });
  }
  return new SecboxError('internal_error', 'The exec could not be run; the log of the server says why.', {
    details,
    cause: error,
  });
}
