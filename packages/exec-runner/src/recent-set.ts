/** Remembers the latest so many of what it was told. */
export class RecentSet {
  readonly #values = new Set<string>();
  readonly #capacity: number;

  constructor(capacity = 10_000) {
    this.#capacity = capacity;
  }

  has(value: string): boolean {
    return this.#values.has(value);
  }

  add(value: string): void {
    this.#values.add(value);
    const [oldest] = this.#values;
    if (this.#values.size > this.#capacity && oldest !== undefined) this.#values.delete(oldest);
  }
}
