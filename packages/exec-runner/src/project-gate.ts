import { SecboxError } from '@secbox/contracts';
import { Progress } from './progress.js';

interface ProjectState {
  /** What ends each exec that is recorded or about to be. */
  readonly present: Set<AbortController>;
  /** Settles when whoever has the project for itself is done. */
  alone?: Promise<unknown>;
  readonly left: Progress;
}

/**
 * Who may touch a project's files: any number of execs, or one other alone. An exec is inside from before its
 * row is written until that has its end, so that whoever is alone meets no exec in any state.
 */
export class ProjectGate {
  readonly #projects = new Map<string, ProjectState>();

  /** Waits while somebody has the project for itself. Gives what leaves it again. */
  async enter(project: string, stop: AbortController): Promise<() => void> {
    for (let state = this.#projects.get(project); state?.alone; state = this.#projects.get(project)) {
      await state.alone;
    }
    const state = this.#stateOf(project);
    state.present.add(stop);
    return () => {
      state.present.delete(stop);
      state.left.report();
      this.#forget(project, state);
    };
  }

  /**
   * Runs `work` while no exec is inside, and keeps others out meanwhile. With a reason it ends those that are
   * there first; without, they are a reason to throw `project_in_use`.
   */
  async alone<T>(project: string, work: () => Promise<T>, endOthers?: Error): Promise<T> {
    for (let state = this.#projects.get(project); state?.alone; state = this.#projects.get(project)) {
      await state.alone;
    }
    const state = this.#stateOf(project);
    if (state.present.size > 0 && !endOthers) throw inUse(state.present.size);
    const running = emptied(state, endOthers).then(work);
    state.alone = running.catch(() => undefined);
    try {
      return await running;
    } finally {
      delete state.alone;
      this.#forget(project, state);
    }
  }

  #stateOf(project: string): ProjectState {
    const state = this.#projects.get(project) ?? { present: new Set(), left: new Progress() };
    this.#projects.set(project, state);
    return state;
  }

  #forget(project: string, state: ProjectState): void {
    const isUnused = state.present.size === 0 && !state.alone;
    if (isUnused && this.#projects.get(project) === state) this.#projects.delete(project);
  }
}

async function emptied(state: ProjectState, reason: Error | undefined): Promise<void> {
  for (const stop of state.present) stop.abort(reason);
  while (state.present.size > 0) await state.left.next();
}

function inUse(execs: number): SecboxError {
  return new SecboxError('project_in_use', 'The project has execs that wait or run.', { details: { execs } });
}
