import { describe, expect, test } from '@jest/globals';
import type { MountSource } from '@secbox/workspace';
import type { ContainerSpec } from './container-engine.js';
import { createOptions } from './dockerode-create.js';

const spec: ContainerSpec = {
  imageId: `sha256:${'0'.repeat(64)}`,
  runtime: 'runc',
  command: ['python3', '-c', 'pass'],
  environment: { A: '1', B: 'x=y' },
  workingDirectory: '/workspace/work',
  mounts: {
    inputs: '/data/inputs' as MountSource,
    work: '/data/work' as MountSource,
    artifacts: '/data/artifacts' as MountSource,
  },
  memoryBytes: 512 * 1024 ** 2,
  cpus: 1.5,
  pids: 64,
  readOnlyRoot: true,
  maxFileBytes: 2 * 1024 ** 3,
  owner: { purpose: 'exec', execId: 'exec', dataDir: '/data' },
};

const profile = '{"defaultAction":"SCMP_ACT_ERRNO"}';

describe('the create call', () => {
  test('says everything that keeps a program in, and nothing else', () => {
    expect(createOptions(spec, profile)).toEqual({
      Image: spec.imageId,
      Cmd: spec.command,
      Entrypoint: [],
      Healthcheck: { Test: ['NONE'] },
      Env: ['A=1', 'B=x=y'],
      WorkingDir: '/workspace/work',
      User: '1000:1000',
      Labels: { secbox: 'exec', 'secbox.exec_id': 'exec', 'secbox.data_dir': '/data' },
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      OpenStdin: true,
      StdinOnce: true,
      Tty: false,
      HostConfig: {
        Runtime: 'runc',
        NetworkMode: 'none',
        IpcMode: 'private',
        PidMode: '',
        UTSMode: '',
        Privileged: false,
        CapDrop: ['ALL'],
        CapAdd: [],
        SecurityOpt: ['no-new-privileges', `seccomp=${profile}`],
        ReadonlyRootfs: true,
        Tmpfs: {
          '/tmp': 'rw,exec,nosuid,nodev,size=134217728,mode=1777',
          '/home/sandbox': 'rw,exec,nosuid,nodev,size=67108864,mode=0700,uid=1000,gid=1000',
        },
        ShmSize: 16 * 1024 ** 2,
        Memory: spec.memoryBytes,
        MemorySwap: spec.memoryBytes,
        NanoCpus: 1_500_000_000,
        PidsLimit: 64,
        Ulimits: [
          { Name: 'core', Soft: 0, Hard: 0 },
          { Name: 'fsize', Soft: 2 * 1024 ** 3, Hard: 2 * 1024 ** 3 },
          { Name: 'nofile', Soft: 1024, Hard: 1024 },
        ],
        LogConfig: { Type: 'none', Config: {} },
        Mounts: [
          mount('/data/inputs', '/workspace/inputs', true),
          mount('/data/work', '/workspace/work', false),
          mount('/data/artifacts', '/workspace/artifacts', false),
        ],
        Devices: [],
        AutoRemove: false,
        RestartPolicy: { Name: 'no' },
      },
    });
  });

  test('takes nothing from a spec but its own fields, whatever else it carries', () => {
    const hostile = {
      ...spec,
      User: '0',
      user: '0',
      privileged: true,
      network: 'host',
      HostConfig: { Privileged: true, NetworkMode: 'host', Binds: ['/:/host'] },
      authconfig: { key: 'x' },
      capabilities: ['SYS_ADMIN'],
      mounts: { ...spec.mounts, host: '/' },
      owner: { ...spec.owner, privileged: true },
    };
    expect(createOptions(hostile, profile)).toEqual(createOptions(spec, profile));
  });

  test('lets mounts of the host through where it is asked to, and only from there', () => {
    const { HostConfig } = createOptions({ ...spec, mountPropagation: 'rslave' }, profile);
    const plain = createOptions(spec, profile).HostConfig;
    expect(HostConfig?.Mounts?.map(({ BindOptions }) => BindOptions)).toEqual([
      { Propagation: 'rslave' },
      { Propagation: 'rslave' },
      { Propagation: 'rslave' },
    ]);
    expect({ ...HostConfig, Mounts: plain?.Mounts }).toEqual(plain);
  });

  test('has the init start something ahead, and nothing else', () => {
    const init = { ...spec, command: ['/sbin/secbox-init'] };
    const { Cmd, ...rest } = createOptions({ ...init, prestart: 'python' }, profile);
    const { Cmd: plain, ...same } = createOptions(init, profile);
    expect([plain, Cmd]).toEqual([['/sbin/secbox-init'], ['/sbin/secbox-init', '--prestart=python']]);
    expect(rest).toEqual(same);
    for (const command of [['python3'], ['/sbin/secbox-init', 'x'], []])
      expect(() => createOptions({ ...spec, command, prestart: 'python' }, profile)).toThrow('Only the init');
  });

  test('is not shared between containers', () => {
    const first = createOptions(spec, profile);
    const second = createOptions(spec, profile);
    expect(first.HostConfig?.Tmpfs).not.toBe(second.HostConfig?.Tmpfs);
    expect(first.Cmd).not.toBe(spec.command);
  });

  test.each<Partial<ContainerSpec>>([
    { memoryBytes: 0 },
    { memoryBytes: -1 },
    { memoryBytes: NaN },
    { memoryBytes: Infinity },
    { memoryBytes: 1.5 },
    { cpus: 0 },
    { cpus: -0.5 },
    { cpus: NaN },
    { cpus: Infinity },
    { cpus: 1e-10 },
    { pids: 0 },
    { pids: -1 },
    { pids: NaN },
    { pids: 1.5 },
    { maxFileBytes: 0 },
    { maxFileBytes: -1 },
    { memoryBytes: undefined as unknown as number },
    { cpus: null as unknown as number },
    { pids: '64' as unknown as number },
  ])('is refused where a limit is none to the engine: %p', (changes) => {
    const [field = ''] = Object.keys(changes);
    expect(() => createOptions({ ...spec, ...changes }, profile)).toThrow(field);
  });

  test.each([
    ['runc', 64, 64],
    ['runc', 2048, 2048],
    ['runsc', 8, 192],
    ['runsc', 128, 1152],
    ['runsc', 2048, 2048],
  ])('under %s, %d processes are %d tasks', (runtime, pids, tasks) => {
    const { HostConfig } = createOptions({ ...spec, runtime, pids }, profile);
    expect(HostConfig).toMatchObject({ Runtime: runtime, PidsLimit: tasks });
  });

  test.each<Partial<ContainerSpec>>([{ cpus: 0.01 }, { cpus: 1e-9 }, { pids: 1 }, { memoryBytes: 1 }])(
    'takes the smallest of limits: %p',
    (changes) => {
      expect(() => createOptions({ ...spec, ...changes }, profile)).not.toThrow();
    },
  );
});

function mount(source: string, target: string, readOnly: boolean) {
  return {
    Type: 'bind',
    Source: source,
    Target: target,
    ReadOnly: readOnly,
    BindOptions: { Propagation: 'rprivate' },
  };
}
