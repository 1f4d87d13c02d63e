import { obtainDataImage } from './data-image.mjs';
import { openEngine } from './engine.mjs';
import { EngineError } from './engine-api.mjs';
import { Failure } from './failure.mjs';
import { obtainImage } from './image.mjs';
import { obtainMountsProgram } from './mounts-program.mjs';
import { obtainSubprocessProgram } from './subprocess-program.mjs';
import { obtainPackages } from './packages.mjs';
import { enginePaths } from './private-engine.mjs';
import { dataFolder, repositoryRoot } from './settings.mjs';

const OLDEST_NODE = 20;

/**
 * @typedef {object} PrepareOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {import('./progress.mjs').Progress} progress
 * @property {(engine: import('./engine.mjs').Engine) => void} [onEngine] told at once, before the image is made
 */

/** @param {string} version such as process.version */
export function checkNode(version) {
  if (Number.parseInt(version.slice(1), 10) >= OLDEST_NODE) return;
  throw new Failure(`Secbox needs Node ${OLDEST_NODE} or newer; this is ${version}.`, {
    remedy: 'Install a newer Node, for example with a version manager, or from your distribution.',
  });
}

/**
 * Packages on one side, engine and then image on the other.
 *
 * @param {PrepareOptions} options
 */
export async function prepareAll(options) {
  const [, engine] = await sideBySide(
    options.signal,
    (signal) => preparePackages({ ...options, signal }),
    (signal) => prepareEngine({ ...options, signal }),
  );
  return engine;
}

/** @param {PrepareOptions} options */
export async function preparePackages({ env, signal, progress }) {
  await inStep(
    progress,
    'packages',
    (say) => obtainPackages({ root: repositoryRoot, env, signal, say }),
    ({ installed }) => (installed ? 'installed' : 'are there'),
  );
}

/** @param {PrepareOptions} options */
async function prepareEngine({ env, signal, progress, onEngine }) {
  const dataDir = dataFolder(env);
  const engine = await inStep(
    progress,
    'engine',
    (say) => openEngine({ env, dataDir, signal, say }),
    describeEngine,
  );
  onEngine?.(engine);
  if (engine.startedHere) progress.note(privateEngineNote(dataDir));
  await inStep(
    progress,
    'image',
    (say) => obtainImage(engine.api, { env, signal, say }),
    ({ tag, built }) => `${tag} ${built ? 'built' : 'is there'}`,
  );
  return {
    ...engine,
    mountsProgram: await prepareMounts(engine, { env, signal, progress }),
    subprocessProgram: await prepareSubprocess(engine, { env, signal, progress }),
  };
}

/**
 * @param {import('./engine.mjs').Engine} engine
 * @param {PrepareOptions} options
 * @returns {Promise<string | undefined>}
 */
async function prepareMounts(engine, { env, signal, progress }) {
  const made = await inStep(
    progress,
    'mounts',
    (say) =>
      unlessItFails(obtainMountsProgram(engine, { env, dataDir: dataFolder(env), signal, say }), progress),
    describeProgram,
  );
  return made.program;
}

/**
 * Only where it is asked for.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {PrepareOptions} options
 * @returns {Promise<string | undefined>}
 */
async function prepareSubprocess(engine, { env, signal, progress }) {
  if (env['SECBOX_SUBPROCESS'] !== 'on') return undefined;
  const made = await inStep(
    progress,
    'subprocess',
    (say) =>
      unlessItFails(
        obtainSubprocessProgram(engine, { env, dataDir: dataFolder(env), signal, say }),
        progress,
      ),
    describeProgram,
  );
  return made.program;
}

/**
 * Without it all else works, so that what fails here is only told.
 *
 * @param {Promise<import('./host-program.mjs').HostProgram>} obtained
 * @param {import('./progress.mjs').Progress} progress
 * @returns {Promise<import('./host-program.mjs').HostProgram>}
 */
async function unlessItFails(obtained, progress) {
  try {
    return await obtained;
  } catch (error) {
    if (!(error instanceof Failure) && !(error instanceof EngineError)) throw error;
    progress.note([error.message, error instanceof Failure ? error.details : ''].join('\n'));
    return { program: undefined, why: 'it could not be made' };
  }
}

/** @param {import('./host-program.mjs').HostProgram} made */
function describeProgram(made) {
  if (made.program === undefined) return `no program: ${made.why}`;
  return `${made.program} ${made.built ? 'compiled' : 'is there'}`;
}

/**
 * The second image, on a machine that is prepared otherwise.
 *
 * @param {import('./engine.mjs').Engine} engine
 * @param {PrepareOptions} options
 */
export async function prepareDataImage(engine, { env, signal, progress }) {
  await inStep(
    progress,
    'data image',
    (say) => obtainDataImage(engine.api, { env, signal, say }),
    ({ tag, built }) => `${tag} ${built ? 'built' : 'is there'}`,
  );
}

/** @param {import('./engine.mjs').Engine} engine */
function describeEngine({ endpoint, startedHere }) {
  const source = endpoint.context === undefined ? endpoint.source : `context ${endpoint.context}`;
  return `${endpoint.host} (${source}${startedHere ? ', started' : ''})`;
}

/** @param {string} dataDir */
function privateEngineNote(dataDir) {
  const { root, socket, moved } = enginePaths(dataDir);
  const where = moved
    ? `${root} (sockets in ${socket.replace(/\/[^/]+$/, '')}, as that path is too long for them)`
    : root;
  return `  No engine answered, so a private one was started in ${where}; npm run engine:stop stops it.`;
}

/**
 * @template T
 * @param {import('./progress.mjs').Progress} progress
 * @param {string} name
 * @param {(say: (doing: string) => void) => Promise<T>} work
 * @param {(result: T) => string} describe
 * @returns {Promise<T>}
 */
export async function inStep(progress, name, work, describe) {
  const step = progress.step(name);
  try {
    const result = await work(step.say);
    step.done(describe(result));
    return result;
  } catch (error) {
    step.failed();
    throw error;
  }
}

/**
 * Runs both; when one fails, stops the other and waits for it, so that nothing
 * goes on behind the message.
 *
 * @template A, B
 * @param {AbortSignal} signal
 * @param {(signal: AbortSignal) => Promise<A>} one
 * @param {(signal: AbortSignal) => Promise<B>} other
 * @returns {Promise<[A, B]>}
 */
async function sideBySide(signal, one, other) {
  const both = new AbortController();
  signal.addEventListener('abort', () => both.abort(signal.reason), { once: true });
  /** @type {unknown[]} */
  const errors = [];
  /** @param {unknown} error */
  const stop = (error) => {
    errors.push(error);
    both.abort(error);
    throw error;
  };
  const [a, b] = await Promise.allSettled([one(both.signal).catch(stop), other(both.signal).catch(stop)]);
  if (a.status === 'rejected' || b.status === 'rejected') throw errors[0];
  return [a.value, b.value];
}
