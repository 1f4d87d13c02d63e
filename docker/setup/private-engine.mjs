import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EngineApi } from './engine-api.mjs';
import { Failure } from './failure.mjs';
import { parseJson } from './json.mjs';
import { withLock } from './lock.mjs';
import { commandLine, isAlive } from './process-identity.mjs';
import { systemPath } from './run-program.mjs';
import { engineConfig } from './runsc.mjs';
import { endStranded } from './stranded-containers.mjs';
import { unmountBelow } from './unmount.mjs';

const LONGEST_SOCKET_PATH = 107;
const DEEPEST_SOCKET = 'exec/containerd/containerd.sock.ttrpc';
const START_MS = 60_000;
const STOP_MS = 60_000;
const LOG_BYTES = 10_000_000;

/**
 * @typedef {object} EnginePaths
 * @property {string} root
 * @property {string} socket
 * @property {string} dataRoot
 * @property {string} execRoot
 * @property {string} pidFile
 * @property {string} log
 * @property {string} config
 * @property {string} lock
 * @property {string} namespace what containerd keeps its containers under
 * @property {boolean} moved whether the sockets had to go elsewhere because the data folder is too deep
 */

/**
 * @param {string} dataDir
 * @returns {EnginePaths}
 */
export function enginePaths(dataDir) {
  const root = path.join(dataDir, 'engine');
  const moved = Buffer.byteLength(path.join(root, DEEPEST_SOCKET)) > LONGEST_SOCKET_PATH;
  // Should the engine find a containerd of the system, it must not share names with another engine there.
  const namespace = `secbox-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`;
  const sockets = moved ? `/run/${namespace}` : root;
  return {
    root,
    socket: path.join(sockets, 'docker.sock'),
    dataRoot: path.join(root, 'data'),
    execRoot: path.join(sockets, 'exec'),
    pidFile: path.join(root, 'docker.pid'),
    log: path.join(root, 'dockerd.log'),
    config: path.join(root, 'daemon.json'),
    lock: path.join(root, 'lock'),
    namespace,
    moved,
  };
}

/** @param {EnginePaths} paths */
export function privateHost(paths) {
  return `unix://${paths.socket}`;
}

/**
 * @param {EnginePaths} paths
 * @returns {Promise<number | undefined>} the pid of our dockerd, if it runs
 */
export async function runningPid(paths) {
  const pid = readPid(paths.pidFile);
  if (pid === undefined) return undefined;
  // After a crash the number may belong to anything; only a dockerd of this very folder is ours.
  return (await commandLine(pid)).includes(`--data-root=${paths.dataRoot}`) ? pid : undefined;
}

/**
 * @param {EnginePaths} paths
 * @returns {Promise<boolean>} whether our engine runs and answers
 */
export async function privateEngineAnswers(paths) {
  if ((await runningPid(paths)) === undefined) return false;
  return (await new EngineApi({ host: privateHost(paths) }).ping(3_000)).answers;
}

/**
 * @param {EnginePaths} paths
 * @param {AbortSignal} signal
 * @returns {Promise<boolean>} whether our engine answers, given the time to start if it runs
 */
async function answersSoon(paths, signal) {
  const deadline = Date.now() + START_MS;
  while ((await runningPid(paths)) !== undefined && Date.now() < deadline) {
    if (await privateEngineAnswers(paths)) return true;
    await sleep(50, undefined, { signal });
  }
  return false;
}

/**
 * @param {EnginePaths} paths
 * @param {NodeJS.ProcessEnv} env
 * @returns {boolean} whether our engine knows the runtimes that are installed now
 */
export function isConfigured(paths, env) {
  return existsSync(paths.config) && readFileSync(paths.config, 'utf8') === engineConfig(env);
}

/**
 * Tells a running engine of runtimes that came or went; its containers do not notice.
 *
 * @param {EnginePaths} paths
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 */
async function configure(paths, env, signal) {
  const pid = await runningPid(paths);
  if (pid === undefined || isConfigured(paths, env)) return;
  const config = engineConfig(env);
  writeFileSync(paths.config, config);
  process.kill(pid, 'SIGHUP');
  const { runtimes } = /** @type {{ runtimes: Record<string, { path: string }> }} */ (parseJson(config));
  const api = new EngineApi({ host: privateHost(paths) });
  const deadline = Date.now() + START_MS;
  for (;;) {
    const info = /** @type {{ Runtimes: Record<string, { path?: string }> }} */ (
      await api.call('GET', '/info')
    );
    if (Object.entries(runtimes).every(([name, { path }]) => info.Runtimes[name]?.path === path)) return;
    if (Date.now() > deadline) {
      throw new Failure('The private Docker engine did not take its new settings.', {
        remedy: `Its log is ${paths.log}. Restart it: npm run engine:stop, then npm run engine:start`,
      });
    }
    await sleep(50, undefined, { signal });
  }
}

/**
 * Starts our dockerd unless it runs already. Of many callers at once only one
 * starts it, the others wait for it.
 *
 * @param {EnginePaths} paths
 * @param {{ dockerd: string, env: NodeJS.ProcessEnv, signal: AbortSignal, say: (doing: string) => void }} options
 * @returns {Promise<{ startedHere: boolean }>}
 */
export async function startPrivateEngine(paths, { dockerd, env, signal, say }) {
  mkdirSync(paths.root, { recursive: true, mode: 0o711 });
  return withLock(
    paths.lock,
    { signal, timeoutMs: 300_000, onWait: (pid) => say(`waiting for another start (pid ${pid})`) },
    async () => {
      if (await answersSoon(paths, signal)) {
        await configure(paths, env, signal);
        return { startedHere: false };
      }
      say('starting dockerd');
      await clearRemains(paths);
      await launch(paths, dockerd, env, signal);
      return { startedHere: true };
    },
  );
}

/**
 * @param {EnginePaths} paths
 * @param {{ signal: AbortSignal }} options
 * @returns {Promise<boolean>} whether it was running
 */
export async function stopPrivateEngine(paths, { signal }) {
  if (!existsSync(paths.root)) return false;
  return withLock(paths.lock, { signal, timeoutMs: 300_000 }, async () => {
    const pid = await runningPid(paths);
    if (pid !== undefined) {
      await killOurContainers(paths);
      process.kill(pid, 'SIGTERM');
      if (!(await gone(pid, STOP_MS, signal))) process.kill(pid, 'SIGKILL');
      await gone(pid, STOP_MS, signal);
    }
    await clearRemains(paths);
    return pid !== undefined;
  });
}

/**
 * dockerd waits 15 s for containers that ignore SIGTERM, and the first process
 * of a sandbox ignores every signal.
 *
 * @param {EnginePaths} paths
 */
async function killOurContainers(paths) {
  const api = new EngineApi({ host: privateHost(paths) });
  const query = { filters: JSON.stringify({ label: ['secbox'] }) };
  try {
    const running = /** @type {{ Id: string }[]} */ (await api.call('GET', '/containers/json', { query }));
    await Promise.allSettled(running.map(({ Id }) => api.call('POST', `/containers/${Id}/kill`)));
  } catch {
    // An engine that no longer answers ends its containers when it stops.
  }
}

/**
 * @param {EnginePaths} paths
 * @param {string} dockerd
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 */
async function launch(paths, dockerd, env, signal) {
  mkdirSync(path.dirname(paths.socket), { recursive: true, mode: 0o711 });
  writeFileSync(paths.config, engineConfig(env));
  if (existsSync(paths.log) && statSync(paths.log).size > LOG_BYTES) renameSync(paths.log, `${paths.log}.1`);
  const logStart = existsSync(paths.log) ? statSync(paths.log).size : 0;
  const log = openSync(paths.log, 'a');
  const child = spawn(dockerd, dockerdFlags(paths), {
    // A folder that may be removed would be held by it.
    cwd: '/',
    env: { ...env, PATH: systemPath(env) },
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  /** @type {{ error?: Error }} */
  const failed = {};
  child.once('error', (error) => (failed.error = error));

  const api = new EngineApi({ host: privateHost(paths) });
  const deadline = Date.now() + START_MS;
  try {
    while (!(await api.ping(1_000)).answers) {
      if (
        failed.error !== undefined ||
        child.exitCode !== null ||
        child.signalCode !== null ||
        Date.now() > deadline
      ) {
        throw new Failure('The private Docker engine did not start.', {
          details: readFileSync(paths.log)
            .subarray(logStart)
            .toString('utf8')
            .trimEnd()
            .split('\n')
            .slice(-15)
            .join('\n'),
          remedy: `Its whole log is ${paths.log}. An engine of your own is used when DOCKER_HOST names it.`,
          cause: failed.error,
        });
      }
      await sleep(50, undefined, { signal });
    }
  } catch (error) {
    child.kill('SIGTERM');
    throw error;
  }
}

/** @param {EnginePaths} paths */
function dockerdFlags(paths) {
  return [
    `--host=${privateHost(paths)}`,
    '--group=root',
    `--data-root=${paths.dataRoot}`,
    `--exec-root=${paths.execRoot}`,
    `--pidfile=${paths.pidFile}`,
    // Else it reads the settings of the system's engine.
    `--config-file=${paths.config}`,
    `--containerd-namespace=${paths.namespace}`,
    `--containerd-plugins-namespace=${paths.namespace}-plugins`,
    // Sandboxes have no network, so the host's needs no change.
    '--bridge=none',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-forward=false',
    '--ip-masq=false',
    '--userland-proxy=false',
    '--log-level=warn',
  ];
}

/**
 * Removes what a killed engine left: containers, pid files that would make dockerd
 * believe that another one runs, sockets and mounts.
 *
 * @param {EnginePaths} paths
 */
async function clearRemains(paths) {
  const pid = await runningPid(paths);
  if (pid !== undefined) {
    throw new Failure(`The private Docker engine (pid ${pid}) runs but does not answer on ${paths.socket}.`, {
      remedy: `Its log is ${paths.log}. Stop it with: npm run engine:stop`,
    });
  }
  const containerdPidFile = path.join(paths.execRoot, 'containerd', 'containerd.pid');
  const containerd = readPid(containerdPidFile);
  if (
    containerd !== undefined &&
    (await commandLine(containerd)).some((part) => part.startsWith(paths.execRoot))
  ) {
    process.kill(containerd, 'SIGTERM');
    await gone(containerd, STOP_MS, AbortSignal.timeout(STOP_MS));
  }
  await endStranded(paths);
  for (const file of [paths.pidFile, containerdPidFile, paths.socket]) rmSync(file, { force: true });
  unmountBelow(paths.root);
  unmountBelow(paths.execRoot);
  if (paths.moved) rmSync(path.dirname(paths.socket), { recursive: true, force: true });
}

/** @param {string} file */
function readPid(file) {
  if (!existsSync(file)) return undefined;
  const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
  return Number.isInteger(pid) && pid > 1 && isAlive(pid) ? pid : undefined;
}

/**
 * @param {number} pid
 * @param {number} withinMs
 * @param {AbortSignal} signal
 */
async function gone(pid, withinMs, signal) {
  const deadline = Date.now() + withinMs;
  // A zombie whose parent does not collect it has an empty command line.
  while (isAlive(pid) && (await commandLine(pid)).length > 0) {
    if (Date.now() > deadline) return false;
    await sleep(50, undefined, { signal });
  }
  return true;
}
