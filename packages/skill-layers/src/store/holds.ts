/** Folders that something uses, and what is to happen to them when nothing does any more. */
export class Holds {
  readonly #held = new Map<string, number>();
  readonly #retired = new Map<string, () => Promise<void>>();
  readonly #removing = new Set<Promise<void>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  /** Gives back the letting go, which may be called twice. */
  hold(folders: readonly string[]): () => void {
    for (const folder of folders) this.#held.set(folder, (this.#held.get(folder) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      for (const folder of folders) this.#letGo(folder);
    };
  }

  isHeld(folder: string): boolean {
    return this.#held.has(folder);
  }

  /** Nobody takes this folder any more; `remove` follows when whoever has it lets go. */
  retire(folder: string, remove: () => Promise<void>): void {
    if (this.#held.has(folder)) this.#retired.set(folder, remove);
    else this.#remove(remove);
  }

  /** Until all that is being removed is gone. */
  async settled(): Promise<void> {
    while (this.#removing.size > 0) await Promise.all(this.#removing);
  }

  #letGo(folder: string): void {
    const left = (this.#held.get(folder) ?? 1) - 1;
    if (left > 0) {
      this.#held.set(folder, left);
      return;
    }
    this.#held.delete(folder);
    const remove = this.#retired.get(folder);
    this.#retired.delete(folder);
    if (remove) this.#remove(remove);
  }

  #remove(remove: () => Promise<void>): void {
    const removing = remove()
      .catch(this.#failed)
      .finally(() => this.#removing.delete(removing));
    this.#removing.add(removing);
  }
}
