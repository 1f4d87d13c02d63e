/** Says that something about an exec changed; what it was is read from where it is kept. */
export class Progress {
  #changed = Promise.resolve();
  #wake: () => void = () => undefined;

  constructor() {
    this.#renew();
  }

  report(): void {
    const wake = this.#wake;
    this.#renew();
    wake();
  }

  /** Settles at the next report; to be taken before looking, so that nothing is missed in between. */
  next(): Promise<void> {
    return this.#changed;
  }

  #renew(): void {
    this.#changed = new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
