import { randomUUID } from 'node:crypto';
import { Directory, isErrno, type Tally, within } from './directory.js';

/** Something that was taken out of its place and is still to be removed. */
export type TrashEntry = string & { readonly __entry: unique symbol };

/**
 * Where folders wait to be removed. They get here in one step, so that nobody ever meets half of one in its
 * place; removing them may take long, be stopped, and go on another time.
 */
export class Trash {
  readonly #path: string;
  /** Somebody sees to these already. */
  readonly #claimed = new Set<string>();

  /** The folder must be there, on the file system of what is taken. */
  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined when there is nothing of that name. Whoever takes something empties it, or leaves it. */
  take(folder: string, name: string): TrashEntry | undefined {
    const entry = randomUUID() as string as TrashEntry;
    this.#claimed.add(entry);
    try {
      within(Directory.open(folder), (from) =>
        within(Directory.open(this.#path), (trash) => from.rename(name, trash, entry)),
      );
      return entry;
    } catch (error) {
      this.#claimed.delete(entry);
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  /** Leaves it to whoever looks for what is left. */
  leave(entry: TrashEntry | undefined): void {
    if (entry !== undefined) this.#claimed.delete(entry);
  }

  /** What others left here, such as a server that was killed; whoever gets one empties it. */
  async *left(): AsyncGenerator<TrashEntry> {
    const names: string[] = [];
    await within(Directory.open(this.#path), async (trash) => {
      for await (const name of trash.names()) names.push(name.toString('utf8'));
    });
    for (const name of names) {
      if (this.#claimed.has(name)) continue;
      this.#claimed.add(name);
      yield name as TrashEntry;
    }
  }

  /** Removes it with all below; false when it was stopped before the end, and is left for another time. */
  async empty(entry: TrashEntry, tally: Tally, stop?: AbortSignal): Promise<boolean> {
    try {
      await within(Directory.open(this.#path), (trash) => trash.remove(entry, { stop, tally }));
      return true;
    } catch (error) {
      if (stop?.aborted === true) return false;
      throw error;
    } finally {
      this.#claimed.delete(entry);
    }
  }
}
