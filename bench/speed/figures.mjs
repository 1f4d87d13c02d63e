import { errorMessage } from '../../docker/setup/failure.mjs';
import { percentiles } from '../summary.mjs';

/**
 * @typedef {object} Contest what one line of the table tells
 * @property {string} section
 * @property {string} contestant
 * @property {string} program
 * @property {number} [gap] milliseconds between one exec's answer and the next one's start, at least
 */

/** @typedef {{ warm?: boolean, execId?: string }} Run what a contestant may tell of one run */
/** @typedef {{ contest: Contest, times: number[], warm: number | undefined, execs: Map<string, number>, failed: number, perSecond?: number, latest?: number }} Row */

/**
 * `own_p50`: of what it took, the part that was not the engine's. `latest`: of rows without gaps, when the answer that
 * was latest beside the other contestant's of the same number came, as a ratio.
 *
 * @typedef {Contest & { n: number, p50: number, p95: number, p99: number, failed: number, own_p50?: number, warm_share?: number, per_second?: number, latest?: number }} Result
 */

/** Collects how long everything took. */
export class Figures {
  /** @type {Map<string, Row>} */
  #rows = new Map();
  /** @type {string[]} */
  failures = [];

  /**
   * Runs it and keeps the time it took, or the reason why it failed.
   *
   * @param {Contest} contest
   * @param {() => Promise<Run | void>} run
   */
  async measure(contest, run) {
    const row = this.row(contest);
    const start = performance.now();
    try {
      const told = await run();
      const took = performance.now() - start;
      row.times.push(took);
      if (told?.warm !== undefined) row.warm = (row.warm ?? 0) + (told.warm ? 1 : 0);
      if (told?.execId !== undefined) row.execs.set(told.execId, took);
    } catch (error) {
      row.failed += 1;
      this.failures.push(`${contest.contestant}, ${contest.program}: ${errorMessage(error)}`);
    }
  }

  /**
   * @param {Contest} contest
   * @returns {Row}
   */
  row(contest) {
    const key = JSON.stringify([contest.section, contest.contestant, contest.program, contest.gap]);
    const known = this.#rows.get(key);
    if (known) return known;
    /** @type {Row} */
    const row = { contest, times: [], warm: undefined, execs: new Map(), failed: 0 };
    this.#rows.set(key, row);
    return row;
  }

  /**
   * @param {(execId: string) => number | undefined} engineMs how long an exec was the engine's
   * @returns {Result[]}
   */
  results(engineMs) {
    return [...this.#rows.values()].map(({ contest, times, warm, execs, failed, perSecond, latest }) => {
      const [p50 = Number.NaN, p95 = Number.NaN, p99 = Number.NaN] = percentiles(times, [0.5, 0.95, 0.99]);
      const own = [...execs].map(([id, ms]) => ms - (engineMs(id) ?? Number.NaN));
      const [ownP50] = percentiles(
        own.filter((ms) => !Number.isNaN(ms)),
        [0.5],
      );
      return {
        ...contest,
        n: times.length,
        p50,
        p95,
        p99,
        failed,
        ...(execs.size === 0 || ownP50 === undefined ? {} : { own_p50: ownP50 }),
        ...(warm === undefined ? {} : { warm_share: warm / times.length }),
        ...(perSecond === undefined ? {} : { per_second: perSecond }),
        ...(latest === undefined ? {} : { latest }),
      };
    });
  }
}
