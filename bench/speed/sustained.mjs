import path from 'node:path';
import { runByEngine } from './bare-engine.mjs';
import { programs } from './programs.mjs';
import { makeFolders } from './sandbox-flags.mjs';

const SECTION = 'sustained';
const WORKERS = 8;
const SLICES = 4;

/**
 * As many as go through in so many seconds, 8 at a time: through the API and by the engine's API alone, by turns.
 *
 * @param {import('./bench-run.mjs').BenchRun} run
 */
export async function benchSustained({ warm, engine, image, folder, figures, seconds, signal, say }) {
  const program = programs.python;
  const contestOf = (/** @type {string} */ contestant) => ({
    section: SECTION,
    contestant,
    program: program.name,
  });
  const folders = Array.from({ length: WORKERS }, (_, n) => makeFolders(path.join(folder, `worker-${n}`)));
  const contestants = [
    {
      contest: contestOf(`API, ${WORKERS} at once`),
      play: (/** @type {number} */ worker) => warm.exec(program, `worker-${worker}`),
    },
    {
      contest: contestOf(`engine alone, ${WORKERS} at once`),
      play: async (/** @type {number} */ worker) => {
        const own = folders[worker];
        if (own) await runByEngine(engine, { image, folders: own, argv: program.argv });
      },
    },
  ];
  const spentMs = new Map(contestants.map(({ contest }) => [contest, 0]));
  await warm.poolFull();
  for (let slice = 1; slice <= SLICES; slice += 1) {
    for (const { contest, play } of contestants) {
      say(`${contest.contestant}: slice ${slice} of ${SLICES}`);
      const begun = performance.now();
      const end = begun + (seconds * 1000) / SLICES;
      const work = async (/** @type {number} */ worker) => {
        while (performance.now() < end && !signal.aborted) {
          await figures.measure(contest, () => play(worker));
        }
      };
      await Promise.all(folders.map((_, worker) => work(worker)));
      // Those that waited at the beginning were made in nobody's time, so that making as many again counts.
      await warm.poolFull();
      spentMs.set(contest, (spentMs.get(contest) ?? 0) + performance.now() - begun);
      signal.throwIfAborted();
    }
  }
  for (const [contest, ms] of spentMs) {
    const row = figures.row(contest);
    row.perSecond = Math.round((row.times.length / ms) * 100_000) / 100;
  }
}
