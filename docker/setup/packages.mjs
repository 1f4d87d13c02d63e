import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { aptInstall, canUseApt } from './apt.mjs';
import { Failure } from './failure.mjs';
import { parseJson } from './json.mjs';
import { withLock } from './lock.mjs';
import { createPnpmReader } from './pnpm-output.mjs';
import { findProgram, runProgram, systemPath } from './run-program.mjs';

const COMPILERS = ['g++', 'make', 'python3'];

/**
 * @typedef {object} PackagesOptions
 * @property {string} root the repository
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 */

/**
 * Installs the packages of the lockfile, unless a stamp says that exactly
 * these are there.
 *
 * @param {PackagesOptions} options
 * @returns {Promise<{ installed: boolean }>}
 */
export async function obtainPackages(options) {
  if (isInstalled(options.root)) return { installed: false };
  return withRepositoryLock(options, async () => {
    if (isInstalled(options.root)) return { installed: false };
    await install(options);
    writeFileSync(stampFile(options.root), wantedStamp(options.root));
    return { installed: true };
  });
}

/**
 * Runs `work` while no other set-up writes into this repository.
 *
 * @template T
 * @param {{ root: string, signal: AbortSignal, say: (doing: string) => void }} options
 * @param {() => Promise<T>} work
 */
export function withRepositoryLock({ root, signal, say }, work) {
  const folder = path.join(root, 'data', 'setup.lock');
  const onWait = (/** @type {number} */ pid) => say(`waiting for another set-up (pid ${pid})`);
  return withLock(folder, { signal, timeoutMs: 1_800_000, onWait }, work);
}

/**
 * What must be installed: the lockfile, and what decides which binaries fit.
 *
 * @param {string} root
 */
export function wantedStamp(root) {
  const lockfile = readFileSync(path.join(root, 'pnpm-lock.yaml'));
  const hash = createHash('sha256').update(lockfile).digest('hex');
  return JSON.stringify({
    lockfile: hash,
    abi: process.versions.modules,
    platform: `${process.platform}-${process.arch}`,
    pnpm: pnpmVersion(root),
  });
}

/** @param {string} root */
export function isInstalled(root) {
  const file = stampFile(root);
  return existsSync(file) && readFileSync(file, 'utf8') === wantedStamp(root);
}

/** @param {string} root */
function stampFile(root) {
  return path.join(root, 'node_modules', '.secbox-installed.json');
}

/** @param {string} root */
function pnpmVersion(root) {
  const manifest = /** @type {{ packageManager?: string }} */ (
    parseJson(readFileSync(path.join(root, 'package.json'), 'utf8'))
  );
  const version = /^pnpm@([^+]+)/.exec(manifest.packageManager ?? '')?.[1];
  if (version === undefined) throw new Failure('package.json names no pnpm version in packageManager.');
  return version;
}

/** @param {PackagesOptions} options */
async function install(options) {
  const first = await runPnpm(options);
  if (first.code === 0) return;
  const missing = COMPILERS.filter((name) => findProgram(name, systemPath(options.env)) === undefined);
  if (first.unbuilt === undefined || missing.length === 0) throw installFailure(first);
  if (!canUseApt(options.env)) {
    throw new Failure(`${first.unbuilt} must be compiled here, but ${missing.join(', ')} cannot be found.`, {
      remedy: compilerAdvice(process.platform),
    });
  }
  options.say(`${first.unbuilt} must be compiled here`);
  await aptInstall(COMPILERS, options);
  const second = await runPnpm(options);
  if (second.code !== 0) throw installFailure(second);
}

/**
 * @param {PackagesOptions} options
 * @returns {Promise<{ code: number, unbuilt: string | undefined, messages: string[] }>}
 */
async function runPnpm({ root, env, signal, say }) {
  say('starting pnpm');
  const reader = createPnpmReader(say);
  const args = ['--yes', `pnpm@${pnpmVersion(root)}`, 'install', '--frozen-lockfile', '--reporter=ndjson'];
  const { code } = await runProgram('npx', args, {
    cwd: root,
    signal,
    // CI: never ask; JOBS: compile on all cores.
    env: { ...env, PATH: systemPath(env), CI: 'true', JOBS: 'max', ...nodeHeaders(env) },
    onLine: (line) => reader.read(line),
  });
  return { code, unbuilt: reader.unbuilt(), messages: reader.messages() };
}

/**
 * Node's own headers where they came with it, so that a compile need not
 * download them.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
function nodeHeaders(env) {
  const folder = path.resolve(process.execPath, '..', '..');
  const header = path.join(folder, 'include', 'node', 'node_version.h');
  if (env['npm_config_nodedir'] !== undefined || !existsSync(header)) return {};
  const text = readFileSync(header, 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => new RegExp(`#define NODE_${part}_VERSION (\\d+)`).exec(text)?.[1],
  );
  return `v${version.join('.')}` === process.version ? { npm_config_nodedir: folder } : {};
}

/** @param {{ unbuilt: string | undefined, messages: string[] }} result */
function installFailure({ unbuilt, messages }) {
  return new Failure(
    unbuilt === undefined ? 'The packages could not be installed.' : `${unbuilt} could not be compiled.`,
    {
      details: messages.slice(-20).join('\n'),
      remedy:
        unbuilt === undefined
          ? 'If the npm registry cannot be reached, set it with: npm config set registry <address>'
          : 'Its compiled form or the headers of Node could not be fetched, or the compiler failed (above).',
    },
  );
}

/** @param {NodeJS.Platform} platform */
function compilerAdvice(platform) {
  if (platform === 'darwin') return 'Install the command line tools with: xcode-select --install';
  if (platform === 'win32')
    return 'Install Python and the Visual Studio Build Tools (Desktop development with C++).';
  return 'Install them: sudo apt-get install g++ make python3 (Fedora: gcc-c++ make python3)';
}
