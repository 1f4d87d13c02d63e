import type { ContainerLimits, ContainerSpec, MountPropagation } from './container-engine.js';
import { isGvisor } from './gvisor.js';
import { initPath, prestartOption } from './init-image.js';

/** Where the mounts appear inside; programs and manifests rely on these names. */
export const containerPaths = {
  inputs: '/workspace/inputs',
  work: '/workspace/work',
  artifacts: '/workspace/artifacts',
} as const;

/** Every container of ours carries these; clean-up touches nothing else. */
export const labels = {
  ours: 'secbox',
  execId: 'secbox.exec_id',
  dataDir: 'secbox.data_dir',
} as const;

/** What every container of an engine gets, whatever its spec. */
export interface EngineHardening {
  /** The content of docker/seccomp.json. */
  readonly seccompProfile: string;
}

export const sandboxUser = '1000:1000';
export const sharedMemoryBytes = 16 * 1024 * 1024;
export const openFiles = 1024;

/**
 * Scratch space for a read-only root. It is memory, so it counts against the container's own limit;
 * `exec` in /tmp because compilers and wheels run what they build there.
 */
export const scratch: Readonly<Record<string, string>> = {
  '/tmp': 'rw,exec,nosuid,nodev,size=134217728,mode=1777',
  '/home/sandbox': 'rw,exec,nosuid,nodev,size=67108864,mode=0700,uid=1000,gid=1000',
};

export function labelsOf(spec: Pick<ContainerSpec, 'owner'>): Record<string, string> {
  return {
    [labels.ours]: spec.owner.purpose,
    ...(spec.owner.execId === undefined ? {} : { [labels.execId]: spec.owner.execId }),
    [labels.dataDir]: spec.owner.dataDir,
  };
}

/** What the container runs. Other programs than the init would take its option for one of their own. */
export function commandOf({
  command,
  prestart,
}: Pick<ContainerSpec, 'command' | 'prestart'>): readonly string[] {
  if (prestart === undefined) return command;
  if (command.length !== 1 || command[0] !== initPath) {
    throw new RangeError('Only the init can start something ahead of its request.');
  }
  return [initPath, prestartOption(prestart)];
}

/** In the engine's units. */
export function limitsOf(spec: ContainerLimits & Pick<ContainerSpec, 'runtime' | 'maxFileBytes'>) {
  return {
    ...changedLimitsOf(spec),
    pids: tasksOf(spec.runtime, limit('pids', spec.pids)),
    maxFileBytes: limit('maxFileBytes', spec.maxFileBytes),
  };
}

/** Those that a running container can be given, one that is no gVisor. */
export function changedLimitsOf({ memoryBytes, cpus, pids }: ContainerLimits) {
  return {
    memoryBytes: limit('memoryBytes', memoryBytes),
    nanoCpus: limit('cpus', Math.round(cpus * 1e9)),
    pids: limit('pids', pids),
  };
}

/**
 * The kernel counts tasks. A process is one, but under gVisor it takes seven or so of the host's while it
 * comes and goes, beside some forty of gVisor's own: counted plainly, 64 would not let a shell start. However
 * many are asked for, one sandbox has no more of them than a policy can allow it without gVisor.
 */
function tasksOf(runtime: string, processes: number): number {
  return isGvisor(runtime) ? Math.min(128 + 8 * processes, mostGvisorTasks) : processes;
}

const mostGvisorTasks = 2048;

/** Engines read 0, less than 0 and null (which NaN and Infinity become on the wire) as no limit at all. */
function limit(field: string, value: number): number {
  if (!Number.isSafeInteger(value) || value <= 0) throw new RangeError(`${field} of ${value} is no limit.`);
  return value;
}

export interface BindMount {
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly propagation: MountPropagation;
}

export function bindMountsOf(spec: Pick<ContainerSpec, 'mounts' | 'mountPropagation'>): readonly BindMount[] {
  const propagation = spec.mountPropagation ?? 'rprivate';
  return [
    { source: spec.mounts.inputs, target: containerPaths.inputs, readOnly: true, propagation },
    {
      source: spec.mounts.work,
      target: containerPaths.work,
      readOnly: spec.mounts.readOnlyWork === true,
      propagation,
    },
    { source: spec.mounts.artifacts, target: containerPaths.artifacts, readOnly: false, propagation },
  ];
}
