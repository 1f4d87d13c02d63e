import { aptInstall, canUseApt } from './apt.mjs';
import { Failure } from './failure.mjs';
import { findProgram, systemPath } from './run-program.mjs';

/**
 * Not `--ignore-cgroups`, with which no limit of memory, cpu or processes
 * holds; not `--oci-seccomp`, as Debian's version reads a profile wrongly
 * (pselect6 is refused, errno values are lost); and no `--platform`: each
 * version's own default (Debian's: ptrace) works without /dev/kvm.
 */
const RUNSC_ARGUMENTS = ['--network=none'];

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} the settings of our dockerd: with what else than runc it can run sandboxes
 */
export function engineConfig(env) {
  return runscConfig(findProgram('runsc', systemPath(env)));
}

/**
 * @param {string | undefined} program where it is, if it is
 * @returns {string} the part of a daemon.json that offers it
 */
export function runscConfig(program) {
  const runtimes = program === undefined ? {} : { runsc: { path: program, runtimeArgs: RUNSC_ARGUMENTS } };
  return `${JSON.stringify({ runtimes }, undefined, 2)}\n`;
}

/**
 * Installs gVisor unless it is there.
 *
 * @param {import('./apt.mjs').AptOptions} options
 */
export async function obtainRunsc(options) {
  if (findProgram('runsc', systemPath(options.env)) !== undefined) return;
  if (!canUseApt(options.env)) {
    throw new Failure('runsc is not installed, and cannot be installed from here.', {
      remedy: 'Install gVisor (https://gvisor.dev/docs/user_guide/install/), so that runsc is in the PATH.',
    });
  }
  await aptInstall(['runsc'], options);
}
