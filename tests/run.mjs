import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { canUseApt } from '../docker/setup/apt.mjs';
import { engineMode } from '../docker/setup/engine.mjs';
import { describeFailure, Interrupted, runCommand } from '../docker/setup/failure.mjs';
import {
  checkNode,
  inStep,
  prepareAll,
  prepareDataImage,
  preparePackages,
} from '../docker/setup/prepare.mjs';
import { enginePaths, stopPrivateEngine } from '../docker/setup/private-engine.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { obtainRunsc } from '../docker/setup/runsc.mjs';
import { engineEnvironment, mountsEnvironment, subprocessEnvironment } from '../docker/setup/serve.mjs';
import { dataFolder, repositoryRoot } from '../docker/setup/settings.mjs';
import { runJest } from './jest-run.mjs';
import { endLeaks } from './leaks.mjs';
import { runStaticChecks } from './static-checks.mjs';

/** @typedef {import('../docker/setup/engine.mjs').Engine} Engine */
/** @typedef {{ passed: number, failed: number }} Score */

const HELP = `Usage: npm test [-- <arguments for jest>]
       npm run test:<layer> [-- <arguments for jest>]

Prepares the machine as npm start does, then runs everything: formatting, lint,
types, import rules, and the tests of every layer on a real Docker engine, of
which it removes all that it made. A layer runs one part:

  static     formatting, lint, types, import rules
  unit       x.test.ts
  contract   x.contract.test.ts, one suite over every implementation
  http       x.http.test.ts
  docker     x.docker.test.ts

  npm run test:unit -- merge     the unit tests in files named merge

static and unit need no engine. The last line says how many passed and failed.
`;

const LAYERS = ['static', 'unit', 'contract', 'http', 'docker'];
const WITHOUT_ENGINE = ['static', 'unit'];
const CLEAN_UP_MS = 120_000;

await runCommand(async (signal) => {
  const words = process.argv.slice(2);
  if (words.includes('--help') || words.includes('-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  checkNode(process.version);
  const [first = ''] = words;
  const layer = LAYERS.includes(first) ? first : undefined;
  const score = await runAll(layer, layer === undefined ? words : words.slice(1), signal);
  process.stdout.write(`\n${score.passed} passed, ${score.failed} failed\n`);
  return score.failed === 0 ? 0 : 1;
});

/**
 * @param {string | undefined} layer
 * @param {readonly string[]} jestArguments
 * @param {AbortSignal} signal
 * @returns {Promise<Score>}
 */
async function runAll(layer, jestArguments, signal) {
  const { env } = process;
  const progress = createProgress({ stream: process.stdout, env });
  // Its real path, as that is what ends up in labels; short, as sockets are made below it.
  const temporary = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'sbt-')));
  // Some tests look at permissions as another user, who must come as far as their own folder.
  chmodSync(temporary, 0o711);
  /** @type {{ engine?: Engine, mountsProgram?: string | undefined, subprocessProgram?: string | undefined }} */
  const found = {};
  /** @type {Score[]} */
  const scores = [];
  try {
    if (layer !== undefined && WITHOUT_ENGINE.includes(layer))
      await preparePackages({ env, signal, progress });
    else {
      const onEngine = (/** @type {Engine} */ engine) => (found.engine = engine);
      // What is off unless it is asked for is tested, too; each service of a test asks for itself.
      const asking = { ...env, SECBOX_SUBPROCESS: 'on' };
      const prepared = await prepareAll({ env: asking, signal, progress, onEngine });
      found.mountsProgram = prepared.mountsProgram;
      found.subprocessProgram = prepared.subprocessProgram;
      await prepareDataImage(prepared, { env, signal, progress });
      await prepareRunsc({ env, signal, progress });
    }

    if (layer === undefined || layer === 'static') {
      scores.push(await runStaticChecks({ root: repositoryRoot, env, signal, progress }));
    }
    if (layer !== 'static') {
      const testEnvironment = {
        ...env,
        ...(found.engine === undefined ? {} : engineEnvironment(found.engine.endpoint)),
        ...mountsEnvironment(found.mountsProgram),
        ...subprocessEnvironment(found.subprocessProgram),
        SECBOX_TEST: '1',
        TMPDIR: temporary,
        TEMP: temporary,
        TMP: temporary,
      };
      scores.push(
        await runJest({ root: repositoryRoot, env: testEnvironment, signal, progress, layer, jestArguments }),
      );
    }
  } catch (error) {
    if (signal.aborted || error instanceof Interrupted) throw error;
    progress.note(`\n${describeFailure(error).text}`);
    scores.push({ passed: 0, failed: 1 });
  } finally {
    const leaks = await endLeaks(found.engine?.api, temporary);
    if (found.engine?.startedHere === true) await stopOwnEngine();
    progress.close();
    if (leaks.length > 0)
      process.stdout.write(`\nLeft behind by tests, and removed now:\n${leaks.join('\n')}\n`);
    if (layer !== 'static')
      scores.push(leaks.length > 0 ? { passed: 0, failed: 1 } : { passed: 1, failed: 0 });
    rmSync(temporary, { recursive: true, force: true });
  }
  return {
    passed: scores.reduce((sum, { passed }) => sum + passed, 0),
    failed: scores.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/**
 * So that what is said of it is tried, too. Where it may not be installed, the
 * tests that need it say so.
 *
 * @param {import('../docker/setup/prepare.mjs').PrepareOptions} options
 */
async function prepareRunsc({ env, signal, progress }) {
  if (!canUseApt(env) || engineMode(env) === 'external') return;
  await inStep(
    progress,
    'runsc',
    (say) => obtainRunsc({ env, signal, say }),
    () => 'is there',
  );
}

async function stopOwnEngine() {
  // Not the signal of the run: this is done also when that was interrupted.
  const signal = AbortSignal.timeout(CLEAN_UP_MS);
  await stopPrivateEngine(enginePaths(dataFolder(process.env)), { signal });
}
