import type { CliCommand } from './cli-process.js';
import type { ContainerLimits, ContainerSpec } from './container-engine.js';
import {
  bindMountsOf,
  changedLimitsOf,
  commandOf,
  labelsOf,
  limitsOf,
  openFiles,
  sandboxUser,
  scratch,
  sharedMemoryBytes,
  type BindMount,
} from './hardening.js';

/**
 * The create command of one hardened container: to the engine the same as what dockerode sends, and a
 * test compares the two. Each option is one word with its value and `--` ends the options, so nothing of
 * a spec can be taken for an option. The options that carry the variables are given, made apart from it.
 */
export function createCommand(
  spec: ContainerSpec,
  seccompProfilePath: string,
  variables: readonly string[],
): CliCommand {
  const { memoryBytes, nanoCpus, pids, maxFileBytes } = limitsOf(spec);
  return [
    'create',
    '--pull=never',
    '--interactive',
    `--runtime=${spec.runtime}`,
    '--network=none',
    '--ipc=private',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    `--security-opt=seccomp=${seccompProfilePath}`,
    `--user=${sandboxUser}`,
    `--read-only=${String(spec.readOnlyRoot)}`,
    ...Object.entries(scratch).map(([target, options]) => `--tmpfs=${target}:${options}`),
    `--shm-size=${sharedMemoryBytes}`,
    `--memory=${memoryBytes}`,
    // Equal to memory: no swap, so a limit is a limit.
    `--memory-swap=${memoryBytes}`,
    `--cpus=${fromNano(nanoCpus)}`,
    `--pids-limit=${pids}`,
    '--ulimit=core=0:0',
    `--ulimit=fsize=${maxFileBytes}:${maxFileBytes}`,
    `--ulimit=nofile=${openFiles}:${openFiles}`,
    // The engine would decode output as text and keep it on its own disk; the attach stream is exact.
    '--log-driver=none',
    // An image's own check would run commands beside the init.
    '--no-healthcheck',
    '--restart=no',
    ...Object.entries(labelsOf(spec)).map(([name, value]) => `--label=${name}=${value}`),
    // Not `--volume`, with which the engine would create a missing source as root.
    ...bindMountsOf(spec).map((mount) => `--mount=${mountOf(mount)}`),
    ...variables,
    `--workdir=${spec.workingDirectory}`,
    '--entrypoint=',
    '--',
    spec.imageId,
    ...commandOf(spec),
  ];
}

/** All limits at once: memory alone is refused, as it would be more than memory and swap together. */
export function updateCommand(id: string, limits: ContainerLimits): CliCommand {
  const { memoryBytes, nanoCpus, pids } = changedLimitsOf(limits);
  return [
    'update',
    `--memory=${memoryBytes}`,
    `--memory-swap=${memoryBytes}`,
    `--cpus=${fromNano(nanoCpus)}`,
    `--pids-limit=${pids}`,
    '--',
    id,
  ];
}

/** The program reads a mount as a line of CSV, so a comma or a quote in a path has to be quoted. */
function mountOf({ source, target, readOnly, propagation }: BindMount): string {
  const fields = ['type=bind', `source=${source}`, `target=${target}`, `bind-propagation=${propagation}`];
  if (readOnly) fields.push('readonly');
  return fields
    .map((field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',');
}

/** Digits only: the program refuses more than nine decimals, and JavaScript writes small numbers as 1e-9. */
function fromNano(nano: number): string {
  return `${Math.floor(nano / 1e9)}.${String(nano % 1e9).padStart(9, '0')}`;
}
