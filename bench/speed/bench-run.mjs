import { setTimeout as sleep } from 'node:timers/promises';
import { Figures } from './figures.mjs';

/**
 * @typedef {object} BenchRun what every section gets
 * @property {number} runs
 * @property {number} seconds
 * @property {boolean} install whether contestants that are missing may be installed
 * @property {import('./api.mjs').Api} warm a server with containers that wait
 * @property {import('./api.mjs').Api} cold one without
 * @property {import('../../docker/setup/engine-api.mjs').EngineApi} engine
 * @property {string} image
 * @property {string} folder for what the other contestants need
 * @property {NodeJS.ProcessEnv} env
 * @property {Figures} figures
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 * @property {(contestant: string, why: string) => void} skip
 */

const MOST_WARM_UP_ROUNDS = 2;

/**
 * Calls for as many rounds as are measured, after some whose times are thrown away.
 *
 * @param {Pick<BenchRun, 'figures' | 'runs' | 'signal' | 'say'>} run
 * @param {string} doing
 * @param {(figures: Figures, round: number) => Promise<void>} playRound
 */
export async function rounds({ figures, runs, signal, say }, doing, playRound) {
  const unused = new Figures();
  for (let round = -Math.min(runs, MOST_WARM_UP_ROUNDS); round < runs; round += 1) {
    signal.throwIfAborted();
    say(`${doing}: round ${Math.max(0, round + 1)} of ${runs}`);
    await playRound(round < 0 ? unused : figures, round);
  }
}

/** Lets so many milliseconds pass between the end of one thing and the beginning of the next. */
export class Gap {
  /** @type {number} */
  #ended = -Infinity;

  /**
   * @param {number} ms
   * @param {AbortSignal} signal
   */
  constructor(ms, signal) {
    this.ms = ms;
    this.signal = signal;
  }

  /** @param {() => Promise<void>} work */
  async before(work) {
    const left = this.#ended + this.ms - performance.now();
    if (left > 0) await sleep(left, undefined, { signal: this.signal });
    await work();
    this.#ended = performance.now();
  }
}
