/** Many at a time, or one alone; who waits to be alone is not overtaken. */
export class SharedLock {
  #sharing = new Set<Promise<unknown>>();
  #alone: Promise<unknown> = Promise.resolve();

  async shared<T>(work: () => Promise<T>): Promise<T> {
    const sharing = this.#alone.then(work);
    const settled = sharing.catch(() => undefined);
    this.#sharing.add(settled);
    try {
      return await sharing;
    } finally {
      this.#sharing.delete(settled);
    }
  }

  async alone<T>(work: () => Promise<T>): Promise<T> {
    const before = Promise.all([this.#alone, ...this.#sharing]);
    const alone = before.then(work);
    this.#alone = alone.catch(() => undefined);
    return alone;
  }
}
