import { spawn } from 'node:child_process';
import path from 'node:path';

const ECHO_MS = 1_000;

const NODE_FLAGS = [
  // With room for more young objects, buffers that output has long passed through wait there by the dozens of
  // megabytes before they are given back: a gigabyte of output costs 45 MB so, and 25 MB with this.
  '--max-semi-space-size=4',
  // How far past what is in use the heap may grow before it is looked through. By itself V8 lets it double and more: a
  // minute of 200 lists a second beside execs costs 113 MB so, and 4 MB with this, at the same pace.
  '--heap-growing-percent=40',
];

/**
 * @param {string} root
 * @returns {string[]} what node is given to run the compiled service
 */
export function serviceArguments(root) {
  return [...NODE_FLAGS, path.join(root, 'apps', 'core-api', 'dist', 'main.js')];
}

/**
 * Runs the service until it ends.
 *
 * It gets a session of its own. In ours, Ctrl-C on a terminal would reach it
 * directly, once more through us, and a third time through npm, which passes on
 * what the terminal has already sent; but a second signal tells the service to
 * give up its clean-up.
 *
 * @param {import('./find-engine.mjs').FoundEndpoint} endpoint
 * @param {{ root: string, env: NodeJS.ProcessEnv, dataDir: string, mountsProgram: string | undefined, subprocessProgram: string | undefined }} options
 * @returns {Promise<number>} its exit code
 */
export async function serve(endpoint, { root, env, dataDir, mountsProgram, subprocessProgram }) {
  const child = spawn(process.execPath, serviceArguments(root), {
    cwd: root,
    env: {
      SECBOX_DEV_KEY: 'on',
      ...env,
      SECBOX_DATA_DIR: dataDir,
      ...engineEnvironment(endpoint),
      ...mountsEnvironment(mountsProgram),
      ...subprocessEnvironment(subprocessProgram),
    },
    stdio: 'inherit',
    detached: process.platform !== 'win32',
  });
  const last = { at: -Infinity };
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    const now = performance.now();
    if (now - last.at < ECHO_MS) return;
    last.at = now;
    child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      resolve(code ?? (signal === 'SIGINT' ? 130 : signal === 'SIGKILL' ? 137 : 143)),
    );
  });
}

/**
 * What tells the service, or a test, which engine was found.
 *
 * @param {import('./find-engine.mjs').FoundEndpoint} endpoint
 * @returns {NodeJS.ProcessEnv}
 */
export function engineEnvironment({ host, source, context, tls }) {
  return {
    DOCKER_HOST: host,
    SECBOX_ENGINE_SOURCE: source,
    // Unset unless it was used: it would be read as the engine's name.
    DOCKER_CONTEXT: context,
    ...(tls === undefined
      ? {}
      : { DOCKER_CERT_PATH: tls.certPath, DOCKER_TLS_VERIFY: tls.verify ? '1' : '' }),
  };
}

/**
 * What tells them where the program is that mounts folders.
 *
 * @param {string | undefined} program
 * @returns {NodeJS.ProcessEnv}
 */
export function mountsEnvironment(program) {
  return { SECBOX_MOUNTS_PROGRAM: program };
}

/**
 * And the one that runs commands as processes of this host.
 *
 * @param {string | undefined} program
 * @returns {NodeJS.ProcessEnv}
 */
export function subprocessEnvironment(program) {
  return { SECBOX_SUBPROCESS_PROGRAM: program };
}
