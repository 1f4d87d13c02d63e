import {
  SecboxError,
  type ProjectListQuery,
  type ProjectPage,
  type ProjectRemoval,
  type RetentionRun,
  type ExecScope,
  type TenantId,
} from '@secbox/contracts';
import type { Tally, TrashEntry } from '@secbox/workspace';
import { finishLeftovers, removeAgedArtifacts } from './aged-artifacts.js';
import { emptyTrash } from './empty-trash.js';
import { ProjectRemover } from './project-remover.js';
import type { RetentionParts } from './retention-parts.js';
import type { ProjectKey } from './retention-records.js';
import { add, nothing, type Step } from './step.js';
import { removeUnusedContents } from './unused-contents.js';
import { removeUnusedProjects } from './unused-projects.js';

export interface RetentionOptions extends RetentionParts {
  readonly everyMs?: number;
  /** How long one run may take before it answers; the next goes on from there. */
  readonly turnMs?: number;
}

const hourMs = 3_600_000;
const defaultTurnMs = 10_000;
/** How long a deletion waits for the disk to be cleared before it answers. */
const clearingMs = 20_000;
const defaultPage = 50;

/** Removes what was kept long enough, and what somebody does not want to keep. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #closing = new AbortController();
  readonly #remover: ProjectRemover;
  readonly #underWay = new Set<Promise<unknown>>();
  /** A sweep that is not at its end. */
  #sweep: AsyncGenerator<Step, void> | undefined;
  /** How many removals of an earlier server are still to be gone through with. */
  #resuming = 0;
  /** Something was left that the sweep under way may have passed already. */
  #leftToSweep = false;
  #turn: Promise<RetentionRun> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#remover = new ProjectRemover(options, this.#closing.signal);
  }

  /** Goes on with the removals that an earlier server began; to be called before anything else uses projects. */
  async resume(): Promise<void> {
    for (const removal of await this.#remover.resume()) {
      this.#resuming += 1;
      void this.#track(removal).then(
        ({ trash }) => {
          for (const entry of trash) this.#options.workspace.trash.leave(entry);
          this.#leftToSweep = true;
          this.#resuming -= 1;
          this.#schedule(0);
        },
        () => undefined,
      );
    }
  }

  /** Sweeps now, and from time to time. */
  begin(): void {
    void this.#sweepOnSchedule();
  }

  /** Ends what is under way at the next good moment; the next server goes on from there. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await Promise.all(this.#underWay);
    await this.#sweep?.return(undefined);
  }

  async projects(
    scope: ExecScope<TenantId>,
    { cursor, limit = defaultPage }: ProjectListQuery,
  ): Promise<ProjectPage> {
    const { items, after } = await this.#options.records.projects(scope, { after: cursor, limit });
    return { projects: items, next_cursor: after ?? null };
  }

  /** Removes all of a project: its inputs, its work, the files of its execs. */
  removeProject(
    project: ProjectKey,
    { by, cancel }: { readonly by: string | null; readonly cancel: boolean },
  ): Promise<ProjectRemoval> {
    return this.#track(this.#removeProject(project, by, cancel));
  }

  /** Does for a while what is due; whoever asks meanwhile gets the same answer. */
  run(): Promise<RetentionRun> {
    this.#turn ??= this.#track(this.#runTurn()).finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  async #removeProject(project: ProjectKey, by: string | null, cancel: boolean): Promise<ProjectRemoval> {
    const { logger, now } = this.#options;
    this.#assertOpen();
    let removedAt = '';
    const taken = await this.#remover.take(project, {
      scope: 'project',
      tombstone: () => {
        removedAt = now().toISOString();
        return { at: removedAt, reason: 'deleted', by };
      },
      isDue: () => Promise.resolve(true),
      cancel,
    });
    if (!taken) throw new SecboxError('project_not_found', `There is no project ${project.projectId}.`);
    const tally = { files: 0, bytes: taken.bytes };
    const complete = await this.#clear(taken.trash, tally);
    const freed = { execs: taken.execs, files: tally.files, freed_bytes: tally.bytes, complete };
    logger.info('project.removed', { project_id: project.projectId, by, ...freed });
    if (!complete) this.#schedule(0);
    return { project_id: project.projectId, removed_at: removedAt, ...freed };
  }

  /** False when there was not the time for it, or something is in the way: a sweep tries again. */
  async #clear(entries: readonly TrashEntry[], tally: Tally): Promise<boolean> {
    const { workspace, logger } = this.#options;
    const stop = AbortSignal.any([AbortSignal.timeout(clearingMs), this.#closing.signal]);
    let complete = true;
    for (const entry of entries) {
      const done = await workspace.trash.empty(entry, tally, stop).catch((error: unknown) => {
        logger.warn('retention.not_removed', { entry, error });
        return false;
      });
      complete &&= done;
    }
    return complete;
  }

  async #runTurn(): Promise<RetentionRun> {
    this.#assertOpen();
    const { turnMs = defaultTurnMs, logger } = this.#options;
    const deadline = performance.now() + turnMs;
    if (!this.#sweep) {
      this.#leftToSweep = false;
      this.#sweep = this.#steps();
    }
    let sum = nothing;
    let complete = false;
    try {
      while (!complete && performance.now() < deadline && !this.#closing.signal.aborted) {
        const step = await this.#sweep.next();
        if (step.done === true) complete = true;
        else sum = add(sum, step.value);
      }
    } catch (error) {
      this.#sweep = undefined;
      throw error;
    }
    if (complete) this.#sweep = undefined;
    const { inUse, bytes, ...counts } = sum;
    const figures = { ...counts, freed_bytes: bytes, in_use: new Set(inUse).size };
    if (Object.values(figures).some((figure) => figure > 0)) logger.info('retention.ran', figures);
    return { ...figures, complete: complete && this.#resuming === 0 && !this.#leftToSweep };
  }

  async *#steps(): AsyncGenerator<Step, void> {
    yield* finishLeftovers(this.#options);
    yield* removeAgedArtifacts(this.#options);
    yield* removeUnusedProjects(this.#options, this.#remover);
    yield* removeUnusedContents(this.#options);
    yield* emptyTrash(this.#options);
  }

  async #sweepOnSchedule(): Promise<void> {
    const { everyMs = hourMs, logger } = this.#options;
    try {
      const { complete } = await this.run();
      this.#schedule(complete ? everyMs : 0);
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      logger.error('retention.failed', { error });
      this.#schedule(everyMs);
    }
  }

  #schedule(afterMs: number): void {
    clearTimeout(this.#timer);
    if (this.#closing.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#sweepOnSchedule(), afterMs);
    this.#timer.unref();
  }

  #assertOpen(): void {
    if (this.#closing.signal.aborted) throw new SecboxError('shutting_down', 'The server is stopping.');
  }

  #track<T>(work: Promise<T>): Promise<T> {
    const settled = work.then(
      () => undefined,
      () => undefined,
    );
    this.#underWay.add(settled);
    void settled.finally(() => this.#underWay.delete(settled));
    return work;
  }
}
