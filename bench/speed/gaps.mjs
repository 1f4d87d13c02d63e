import { Gap, rounds } from './bench-run.mjs';
import { allPrograms } from './programs.mjs';

/** @typedef {import('./bench-run.mjs').BenchRun} BenchRun */

const SECTION = 'gaps';
const SHORT_GAP_MS = 250;
/** Long, as the first few of each row find the pool full. */
const ROUNDS_IN_A_ROW = 10;
const WHOLE_ROW = { section: SECTION, program: 'the whole row', gap: 0 };

/** @param {BenchRun} run */
export async function benchGaps(run) {
  await withShortGaps(run);
  await withoutGaps(run);
}

/** @param {BenchRun} run */
async function withShortGaps(run) {
  const { warm, signal } = run;
  const gap = new Gap(SHORT_GAP_MS, signal);
  await warm.poolFull();
  await rounds(run, `${SHORT_GAP_MS} ms gaps`, async (figures) => {
    for (const program of allPrograms) {
      await gap.before(() =>
        figures.measure(
          { section: SECTION, contestant: 'warm', program: program.name, gap: SHORT_GAP_MS },
          () => warm.exec(program),
        ),
      );
    }
  });
}

/**
 * One after another, as fast as they are answered: a row of them by the server with a pool, then by the one without.
 *
 * @param {BenchRun} run
 */
async function withoutGaps({ warm, cold, figures, runs, signal, say }) {
  /** @param {string} contestant @param {import('./api.mjs').Api} api @param {number} from */
  const playRow = async (contestant, api, from) => {
    say(`no gaps, ${contestant}: round ${from} of ${runs}`);
    await warm.poolFull();
    /** @type {number[]} */
    const arrivals = [];
    const begun = performance.now();
    for (let round = from; round < Math.min(runs, from + ROUNDS_IN_A_ROW); round += 1) {
      for (const program of allPrograms) {
        signal.throwIfAborted();
        await figures.measure({ section: SECTION, contestant, program: program.name, gap: 0 }, () =>
          api.exec(program),
        );
        arrivals.push(performance.now() - begun);
      }
    }
    figures.row({ ...WHOLE_ROW, contestant }).times.push(arrivals.at(-1) ?? Number.NaN);
    return arrivals;
  };
  for (let from = 0; from < runs; from += ROUNDS_IN_A_ROW) {
    const ours = await playRow('warm', warm, from);
    const theirs = await playRow('cold', cold, from);
    const row = figures.row({ ...WHOLE_ROW, contestant: 'warm' });
    row.latest = Math.max(row.latest ?? 0, ...ours.map((at, k) => at / (theirs[k] ?? Number.NaN)));
  }
}
