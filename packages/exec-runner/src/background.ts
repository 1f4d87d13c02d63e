/** Work that nobody waits for before all is over. None of it rejects. */
export class Background {
  readonly #work = new Set<Promise<void>>();

  add(work: Promise<void>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  /** With what was added meanwhile. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.all(this.#work);
  }
}
