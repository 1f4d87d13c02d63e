import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, Failure } from '../../docker/setup/failure.mjs';
import { findProgram, systemPath } from '../../docker/setup/run-program.mjs';
import { Gap, rounds } from './bench-run.mjs';
import { bubblewrap } from './bubblewrap.mjs';
import { dockerExec, dockerRun } from './docker-program.mjs';
import { allPrograms, checkOutput, programs } from './programs.mjs';
import { runQuietly } from './run-quietly.mjs';
import { makeFolders } from './sandbox-flags.mjs';
import { testcontainers } from './testcontainers.mjs';

/** @typedef {import('./programs.mjs').Program} Program */
/** @typedef {(program: Program) => Promise<import('./figures.mjs').Run | void>} Contestant */

const SECTION = 'others';
export const GAP_MS = 1000;
/** The cold road answers before its container is removed, which is not to be the next one's burden. */
const SETTLE_MS = 150;

/**
 * A warm exec every second or less often, and in between, when the pool is full again, each of the others once.
 *
 * @param {import('./bench-run.mjs').BenchRun} run
 */
export async function benchOthers(run) {
  const { warm, cold, signal } = run;
  const others = await openOthers(run);
  const gap = new Gap(GAP_MS, signal);
  try {
    await rounds(run, `${GAP_MS} ms gaps against others`, async (figures) => {
      for (const program of allPrograms) {
        const contest = { section: SECTION, program: program.name };
        await gap.before(() =>
          figures.measure({ ...contest, contestant: 'warm', gap: GAP_MS }, () => warm.exec(program)),
        );
        await warm.poolFull();
        for (const [contestant, { plays, play }] of others.all) {
          if (!plays.includes(program)) continue;
          signal.throwIfAborted();
          await figures.measure({ ...contest, contestant }, () => play(program));
        }
        await figures.measure({ ...contest, contestant: 'cold' }, () => cold.exec(program));
        await sleep(SETTLE_MS, undefined, { signal });
      }
    });
  } finally {
    await others.stop();
  }
}

/** @param {import('./bench-run.mjs').BenchRun} run */
async function openOthers(run) {
  const { image, env, skip } = run;
  if (findProgram('docker', systemPath(env)) === undefined) {
    throw new Failure('The docker program, which is one to compare with, cannot be found.', {
      remedy: 'Install it, or measure the other sections with --only gaps,projects,sustained',
    });
  }
  const options = { ...run, folders: makeFolders(path.join(run.folder, 'others')) };
  /** @type {Map<string, { plays: readonly Program[], play: Contestant }>} */
  const all = new Map();
  /**
   * @param {string} name
   * @param {readonly Program[]} plays
   * @param {() => Promise<Contestant> | Contestant} open
   */
  const add = async (name, plays, open) => {
    try {
      all.set(name, { plays, play: await open() });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      skip(name, errorMessage(error));
    }
  };
  await add('docker run', allPrograms, () => dockerRun({ image, env, folders: options.folders }));
  await add('testcontainers', [programs.python], () => testcontainers(options));
  await add('bubblewrap', [programs.true, programs.python], () => bubblewrap(options));
  await add('bare host', [programs.python], () => bareHost);
  const running = await dockerExec(options);
  await add('docker exec', [programs.true, programs.bash, programs.python], () => running.run);
  return { all, stop: running.stop };
}

/** @type {Contestant} */
async function bareHost(program) {
  const [, ...args] = program.argv;
  checkOutput(program, await runQuietly('/usr/bin/python3', args));
}
