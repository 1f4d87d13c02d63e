import { aborted } from './aborted.js';
import { Progress } from './progress.js';

interface ProjectState {
  /** Execs that see the project's inputs at this moment, each with its number, in the order in which they came. */
  readonly readers: Map<string, number>;
  /** Of these, the ones that were not alone all the time. */
  readonly accompanied: Set<string>;
  /** Those that are gone while one that was there with them is not, with the number of the next one then. */
  readonly gone: Map<string, number>;
  next: number;
  /** Settles when the one before has entered: writers come one after the other. */
  turn: Promise<unknown>;
  /** Those that have not left yet, waiting ones among them; the state goes when none is left. */
  present: number;
  readonly left: Progress;
}

export interface InputsEntry<T> {
  /** Of the exec; no other of the project has it. */
  readonly name: string;
  /** Whether writing would change something that a running exec could see. */
  readonly wouldChange: () => Promise<boolean>;
  /** `isNeeded`: whether the named exec, or one that was there together with it, sees the inputs at this moment. */
  readonly write: (isNeeded: (name: string) => boolean) => Promise<T>;
  /** Whether others of the project wait until this one has left. */
  readonly exclusive?: boolean;
  /** Ends the waiting. */
  readonly stop: AbortSignal;
}

/**
 * Keeps inputs still under a running exec: adding files is fine at any time, but who would change one
 * waits until no exec of that project runs, and those that come later wait behind it.
 */
export class InputsGuard {
  readonly #projects = new Map<string, ProjectState>();

  /**
   * Writes the inputs when they may be written, and runs `work` with them as they are then. `wasAccompanied`: whether
   * another of the project was there at any time since.
   */
  async during<T, R>(
    project: string,
    entry: InputsEntry<T>,
    work: (written: T, wasAccompanied: () => boolean) => Promise<R>,
  ): Promise<R> {
    const state = this.#projects.get(project) ?? {
      readers: new Map<string, number>(),
      accompanied: new Set<string>(),
      gone: new Map<string, number>(),
      next: 0,
      turn: Promise.resolve(),
      present: 0,
      left: new Progress(),
    };
    this.#projects.set(project, state);
    state.present += 1;
    const leaving = entry.exclusive === true ? new Progress() : undefined;
    try {
      const written = await this.#enter(state, entry, leaving?.next());
      try {
        return await work(written, () => state.accompanied.has(entry.name));
      } finally {
        leave(state, entry.name);
        state.left.report();
      }
    } finally {
      leaving?.report();
      state.present -= 1;
      if (state.present === 0) this.#projects.delete(project);
    }
  }

  #enter<T>(
    state: ProjectState,
    { name, wouldChange, write, stop }: InputsEntry<T>,
    left: Promise<void> | undefined,
  ): Promise<T> {
    const before = state.turn;
    const entering = Promise.race([before, aborted(stop)]).then(async () => {
      stop.throwIfAborted();
      const change = await wouldChange();
      while (change && state.readers.size > 0 && !stop.aborted)
        await Promise.race([state.left.next(), aborted(stop)]);
      stop.throwIfAborted();
      const written = await write((other) => state.readers.has(other) || state.gone.has(other));
      if (state.readers.size > 0)
        for (const other of [...state.readers.keys(), name]) state.accompanied.add(other);
      state.readers.set(name, state.next);
      state.next += 1;
      return written;
    });
    // Whoever is next is not concerned by this one's failure.
    state.turn = Promise.allSettled([before, entering, left]);
    return entering;
  }
}

/** In a project that is never empty, what somebody brought is needed only by those who came before it went. */
function leave({ readers, accompanied, gone, next }: ProjectState, name: string): void {
  readers.delete(name);
  accompanied.delete(name);
  gone.set(name, next);
  const [oldest = Infinity] = readers.values();
  for (const [other, until] of gone) if (until <= oldest) gone.delete(other);
}
