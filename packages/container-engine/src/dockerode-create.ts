import type { ContainerCreateOptions } from 'dockerode';
import type { ContainerSpec } from './container-engine.js';
import {
  bindMountsOf,
  commandOf,
  labelsOf,
  limitsOf,
  openFiles,
  sandboxUser,
  scratch,
  sharedMemoryBytes,
} from './hardening.js';

/** The create call of one hardened container. `tests/` holds the engine's own view of it as a golden file. */
export function createOptions(spec: ContainerSpec, seccompProfile: string): ContainerCreateOptions {
  const { memoryBytes, nanoCpus, pids, maxFileBytes } = limitsOf(spec);
  return {
    Image: spec.imageId,
    Cmd: [...commandOf(spec)],
    Entrypoint: [],
    // An image's own check would run commands beside the init.
    Healthcheck: { Test: ['NONE'] },
    Env: Object.entries(spec.environment).map(([name, value]) => `${name}=${value}`),
    WorkingDir: spec.workingDirectory,
    User: sandboxUser,
    Labels: labelsOf(spec),
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    HostConfig: {
      Runtime: spec.runtime,
      // Not `NetworkDisabled`: with that the engine leaves /etc/hosts empty, and localhost has no address.
      NetworkMode: 'none',
      IpcMode: 'private',
      PidMode: '',
      UTSMode: '',
      Privileged: false,
      CapDrop: ['ALL'],
      CapAdd: [],
      SecurityOpt: ['no-new-privileges', `seccomp=${seccompProfile}`],
      ReadonlyRootfs: spec.readOnlyRoot,
      Tmpfs: { ...scratch },
      ShmSize: sharedMemoryBytes,
      Memory: memoryBytes,
      // Equal to Memory: no swap, so a limit is a limit.
      MemorySwap: memoryBytes,
      NanoCpus: nanoCpus,
      PidsLimit: pids,
      Ulimits: [
        { Name: 'core', Soft: 0, Hard: 0 },
        { Name: 'fsize', Soft: maxFileBytes, Hard: maxFileBytes },
        { Name: 'nofile', Soft: openFiles, Hard: openFiles },
      ],
      // The engine would decode output as text and keep it on its own disk; the attach stream is exact.
      LogConfig: { Type: 'none', Config: {} },
      // `Mounts` refuses a source that is missing; `Binds` would create it as root.
      Mounts: bindMountsOf(spec).map(({ source, target, readOnly, propagation }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ReadOnly: readOnly,
        BindOptions: { Propagation: propagation },
      })),
      Devices: [],
      AutoRemove: false,
      RestartPolicy: { Name: 'no' },
    },
  };
}
