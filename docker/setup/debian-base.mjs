import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { aptInstall, canUseApt } from './apt.mjs';
import { EngineError } from './engine-api.mjs';
import { Failure, errorMessage } from './failure.mjs';
import { isAlive } from './process-identity.mjs';
import { megabytes } from './progress.mjs';
import { findProgram, runProgram, systemPath } from './run-program.mjs';
import { mountsBelow, unmountBelow } from './unmount.mjs';

const SUITE = 'bookworm';
const REPOSITORY = 'secbox/sandbox-base';
const TEMPORARY = 'secbox-base-';

/** Stands for this base in the content tag of images made on it. */
export const DEBIAN_BASE = `debian:${SUITE}`;

const FLAGS = [
  '--variant=minbase',
  '--format=tar',
  // The result is thrown away if it does not come out whole: no need to wait for the disk.
  '--dpkgopt=force-unsafe-io',
  '--dpkgopt=path-exclude=/usr/share/man/*',
  '--dpkgopt=path-exclude=/usr/share/doc/*',
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
  '--dpkgopt=path-exclude=/usr/share/locale/*',
];

/**
 * @typedef {object} BaseOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 */

/**
 * The base image made of Debian's own packages, for machines whose engine
 * reaches no registry. Made once per package list.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} packageList the content of docker/sandbox/packages.txt
 * @param {BaseOptions} options
 * @returns {Promise<string>} its name
 */
export async function obtainDebianBase(api, packageList, options) {
  const packages = packageNames(packageList);
  const tag = createHash('sha256')
    .update([SUITE, ...FLAGS, ...packages].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const name = `${REPOSITORY}:${tag}`;
  if (await imageExists(api, name)) return name;

  const searchPath = systemPath(options.env);
  if (findProgram('mmdebstrap', searchPath) === undefined) {
    await aptInstall(['mmdebstrap', 'debian-archive-keyring'], options);
  }
  await importRoot(api, tag, packages, options);
  return name;
}

/** @param {NodeJS.ProcessEnv} env */
export function canMakeDebianBase(env) {
  return canUseApt(env);
}

/**
 * @param {string} packageList
 * @returns {string[]}
 */
export function packageNames(packageList) {
  return packageList
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[0] ?? '')
    .filter((word) => word !== '' && !word.startsWith('#'));
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} name
 */
export async function imageExists(api, name) {
  try {
    await api.call('GET', `/images/${name}/json`);
    return true;
  } catch (error) {
    if (error instanceof EngineError && error.status === 404) return false;
    throw error;
  }
}

/**
 * Streams mmdebstrap's archive into the engine. The request's end is sent only
 * after mmdebstrap has succeeded: a half archive never becomes an image.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} tag
 * @param {readonly string[]} packages
 * @param {BaseOptions} options
 */
async function importRoot(api, tag, packages, { env, signal, say }) {
  removeAbandoned();
  const temporary = mkdtempSync(path.join(os.tmpdir(), `${TEMPORARY}${process.pid}-`));
  const archive = new PassThrough();
  const both = new AbortController();
  const stop = () => both.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const query = { fromSrc: '-', repo: REPOSITORY, tag, changes: 'LABEL secbox=image' };
  const headers = { 'Content-Type': 'application/x-tar' };
  const imported = api
    .messages(
      'POST',
      '/images/create',
      { query, headers, body: archive, signal: both.signal },
      () => undefined,
    )
    .catch((/** @type {unknown} */ error) => {
      const failure = new Failure(`The engine could not import the base image: ${errorMessage(error)}`);
      both.abort(failure);
      throw failure;
    });
  try {
    const made = makeRoot(packages, archive, { env, signal: both.signal, say }, temporary);
    // Both to their end, as the folder is removed then; and what mmdebstrap said explains what the engine said.
    const results = await Promise.allSettled([made, imported]);
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  } finally {
    signal.removeEventListener('abort', stop);
    archive.destroy();
    removeTemporary(temporary);
  }
}

/**
 * @param {readonly string[]} packages
 * @param {PassThrough} archive
 * @param {BaseOptions} options
 * @param {string} temporary
 */
async function makeRoot(packages, archive, { env, signal, say }, temporary) {
  say('making a Debian base');
  const mirror = env['SECBOX_DEBIAN_MIRROR'] ?? '';
  const args = [
    '--verbose',
    ...FLAGS,
    `--include=${packages.join(',')}`,
    SUITE,
    '-',
    ...(mirror === '' ? [] : [mirror]),
  ];
  const count = { done: 0, total: 0 };
  const { code, lines } = await runProgram('mmdebstrap', args, {
    signal,
    env: { ...env, PATH: systemPath(env), TMPDIR: temporary, LC_ALL: 'C.UTF-8' },
    onLine(line) {
      const doing = /^I: (.*?)(\.\.\.)?$/.exec(line)?.[1];
      if (doing !== undefined) say(`making a Debian base: ${doing}`);
      count.total += Number(/, (\d+) newly installed,/.exec(line)?.[1] ?? 0);
      if (!line.startsWith('Setting up ')) return;
      count.done += 1;
      say(`making a Debian base: ${count.done} of ${count.total} packages`);
    },
    onStdout(stdout) {
      const sent = { bytes: 0 };
      stdout.on('data', (/** @type {Buffer} */ chunk) => {
        sent.bytes += chunk.length;
        say(`making a Debian base: ${megabytes(sent.bytes)} into the engine`);
      });
      stdout.pipe(archive, { end: false });
    },
  });
  if (code !== 0) {
    const failure = new Failure('mmdebstrap could not make a base image of Debian packages.', {
      details: lines.slice(-12).join('\n'),
      remedy: 'If no Debian mirror is reachable, name one that is in SECBOX_DEBIAN_MIRROR.',
    });
    archive.destroy(failure);
    throw failure;
  }
  archive.end();
}

/** Removes what a set-up that was killed left in the temporary folder. */
function removeAbandoned() {
  for (const name of readdirSync(os.tmpdir())) {
    const pid = new RegExp(`^${TEMPORARY}(\\d+)-`).exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) removeTemporary(path.join(os.tmpdir(), name));
  }
}

/** @param {string} folder */
function removeTemporary(folder) {
  // A mounted /dev or /proc below it must not be emptied.
  unmountBelow(folder);
  if (mountsBelow(folder).length > 0) return;
  rmSync(folder, { recursive: true, force: true });
}
