import { setImmediate } from 'node:timers/promises';

/** How long others may be kept waiting. */
const heldMs = 4;

/** For work of any length that is done in small steps, none of which waits: lets others have their turn in between. */
export class Breath {
  #since = performance.now();

  /** To be awaited between steps. */
  async take(): Promise<void> {
    if (performance.now() - this.#since < heldMs) return;
    await setImmediate();
    this.#since = performance.now();
  }
}
