import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { rounds } from './bench-run.mjs';
import { programs } from './programs.mjs';

const SECTION = 'projects';
/** So many projects later, the disk of one that nobody used has been unmounted. */
const IDLE_FOR_ROUNDS = 15;
const UNMOUNTED_WITHIN_MS = 30_000;

/**
 * A project in use, one that has never been, and one that was once and whose disk is no longer mounted. The pool is full
 * each time, so that they differ in nothing else.
 *
 * @param {import('./bench-run.mjs').BenchRun} run
 */
export async function benchProjects(run) {
  const { warm, signal, say } = run;
  const program = programs.python;
  const idle = Array.from({ length: Math.min(run.runs, IDLE_FOR_ROUNDS) }, (_, n) => `idle-${n}`);
  for (const project of idle) {
    signal.throwIfAborted();
    say(`making projects that will be idle: ${project}`);
    await warm.exec(program, project);
  }
  await rounds(run, 'busy, new and idle projects', async (figures, round) => {
    const fresh = `new-${round}`;
    const oldest = idle.shift() ?? fresh;
    idle.push(fresh);
    for (const [contestant, project] of /** @type {const} */ ([
      ['busy project', 'bench'],
      ['new project', fresh],
      ['idle project', oldest],
    ])) {
      if (contestant === 'idle project') await unmounted(warm.dataDir, project, signal);
      await warm.poolFull();
      await figures.measure({ section: SECTION, contestant, program: program.name }, () =>
        warm.exec(program, project),
      );
    }
  });
}

/**
 * @param {string} dataDir
 * @param {string} project
 * @param {AbortSignal} signal
 */
async function unmounted(dataDir, project, signal) {
  if (process.platform !== 'linux') return;
  const folder = path.join(dataDir, 'workspace', 'projects', project);
  const end = performance.now() + UNMOUNTED_WITHIN_MS;
  while (mountsBelow(folder).length > 0) {
    if (performance.now() > end) throw new Error(`The disk of ${project} is not unmounted.`);
    await sleep(100, undefined, { signal });
  }
}
