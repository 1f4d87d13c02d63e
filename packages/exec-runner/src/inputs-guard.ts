import { aborted } from './aborted.js';
import { Progress } from './progress.js';

interface ProjectState {
  /** Execs that see the project's inputs at this moment. */
  readers: number;
  /** Settles when the one before has entered: writers come one after the other. */
  turn: Promise<unknown>;
  /** Those that have not left yet, waiting ones among them; the state goes when none is left. */
  present: number;
  readonly left: Progress;
}

export interface InputsEntry<T> {
  /** Whether writing would change something that a running exec could see. */
  readonly wouldChange: () => Promise<boolean>;
  readonly write: () => Promise<T>;
  /** Ends the waiting. */
  readonly stop: AbortSignal;
}

/**
 * Keeps inputs still under a running exec: adding files is fine at any time, but who would change one
 * waits until no exec of that project runs, and those that come later wait behind it.
 */
export class InputsGuard {
  readonly #projects = new Map<string, ProjectState>();

  /** Writes the inputs when they may be written, and runs `work` with them as they are then. */
  async during<T, R>(project: string, entry: InputsEntry<T>, work: (written: T) => Promise<R>): Promise<R> {
    const state = this.#projects.get(project) ?? {
      readers: 0,
      turn: Promise.resolve(),
      present: 0,
      left: new Progress(),
    };
    this.#projects.set(project, state);
    state.present += 1;
    try {
      const written = await this.#enter(state, entry);
      try {
        return await work(written);
      } finally {
        state.readers -= 1;
        state.left.report();
      }
    } finally {
      state.present -= 1;
      if (state.present === 0) this.#projects.delete(project);
    }
  }

  #enter<T>(state: ProjectState, { wouldChange, write, stop }: InputsEntry<T>): Promise<T> {
    const before = state.turn;
    const entering = Promise.race([before, aborted(stop)]).then(async () => {
      stop.throwIfAborted();
      const change = await wouldChange();
      while (change && state.readers > 0 && !stop.aborted)
        await Promise.race([state.left.next(), aborted(stop)]);
      stop.throwIfAborted();
      const written = await write();
      state.readers += 1;
      return written;
    });
    // Whoever is next is not concerned by this one's failure.
    state.turn = Promise.allSettled([before, entering]);
    return entering;
  }
}
