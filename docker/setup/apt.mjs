import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { Failure } from './failure.mjs';
import { withLock } from './lock.mjs';
import { findProgram, runProgram, systemPath } from './run-program.mjs';

const GUARD_MARK = 'written by Secbox while it installs packages';
const LOCK = '/run/secbox-apt.lock';
const REFUSED = 101;

/**
 * @typedef {object} AptOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 */

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {boolean} whether we may install Debian packages here
 */
export function canUseApt(env) {
  return (
    process.platform === 'linux' &&
    process.getuid?.() === 0 &&
    findProgram('apt-get', systemPath(env)) !== undefined
  );
}

/**
 * Installs Debian packages without starting any service of theirs. Lists are
 * fetched only when the install fails without: they are often fresh enough.
 *
 * @param {readonly string[]} packages
 * @param {AptOptions} options
 */
export async function aptInstall(packages, options) {
  // One at a time, also across processes: the second to end must not find the guard gone.
  await withLock(LOCK, { signal: options.signal, timeoutMs: 900_000 }, () => install(packages, options));
}

/**
 * @param {readonly string[]} packages
 * @param {AptOptions} options
 */
async function install(packages, options) {
  const names = packages.join(' ');
  const restore = guardServices();
  try {
    options.say(`installing ${names}`);
    const first = await aptGet(['install', ...packages], options);
    if (first.code === 0) return;
    if (first.lines.some((line) => line.includes('dpkg --configure -a'))) {
      // An install was once killed halfway.
      await runProgram('dpkg', ['--configure', '-a'], {
        signal: options.signal,
        env: aptEnvironment(options.env),
      });
    }
    options.say('fetching package lists');
    // Its exit code says little: one unreachable third-party list spoils it.
    await aptGet(['update'], options);
    options.say(`installing ${names}`);
    const second = await aptGet(['install', ...packages], options);
    if (second.code !== 0) {
      throw new Failure(`apt-get could not install ${names}.`, {
        details: second.lines.slice(-12).join('\n'),
        remedy: `Find out why with: apt-get update && apt-get install ${names}`,
      });
    }
  } finally {
    restore();
  }
}

/**
 * @param {readonly string[]} args
 * @param {AptOptions} options
 */
function aptGet(args, { env, signal, say }) {
  const names = args.slice(1).join(' ');
  return runProgram(
    'apt-get',
    [
      '-y',
      '-q',
      '--no-install-recommends',
      '-o',
      'DPkg::Lock::Timeout=300',
      '-o',
      'APT::Status-Fd=3',
      '-o',
      'Dpkg::Options::=--force-confold',
      ...args,
    ],
    {
      signal,
      env: aptEnvironment(env),
      onStatusLine(line) {
        // dlstatus:<number>:<percent>:<text> while downloading, pmstatus:<package>:<percent>:<text> while installing
        const [kind, item = '', percent = ''] = line.split(':');
        if (args[0] !== 'install') return;
        if (kind === 'dlstatus') say(`installing ${names}: downloading, ${Math.round(Number(percent))} %`);
        if (kind === 'pmstatus') say(`installing ${names}: ${item}, ${Math.round(Number(percent))} %`);
      },
    },
  );
}

/** @param {NodeJS.ProcessEnv} env */
function aptEnvironment(env) {
  return {
    ...env,
    PATH: systemPath(env),
    DEBIAN_FRONTEND: 'noninteractive',
    NEEDRESTART_SUSPEND: '1',
    LC_ALL: 'C.UTF-8',
  };
}

/**
 * Debian starts the services of the packages it installs unless policy-rc.d
 * says no. We want the programs only.
 *
 * @param {string} [folder] where policy-rc.d is
 * @returns {() => void} puts things back as they were
 */
export function guardServices(folder = '/usr/sbin') {
  const guard = path.join(folder, 'policy-rc.d');
  const saved = path.join(folder, 'policy-rc.d.before-secbox');
  if (existsSync(guard) && !readFileSync(guard, 'utf8').includes(GUARD_MARK)) {
    if (spawnSync(guard, ['docker', 'start'], { stdio: 'ignore' }).status === REFUSED) return () => undefined;
    renameSync(guard, saved);
  }
  writeFileSync(guard, `#!/bin/sh\n# ${GUARD_MARK}; may be removed when no set-up runs\nexit ${REFUSED}\n`);
  chmodSync(guard, 0o755);
  return () => {
    // A saved one may also be of an earlier set-up that was killed.
    if (existsSync(saved)) renameSync(saved, guard);
    else rmSync(guard, { force: true });
  };
}
