import { describe, expect, test } from '@jest/globals';
import type { MountSource } from '@secbox/workspace';
import fc from 'fast-check';
import { createCommand } from './cli-arguments.js';
import type { ContainerSpec } from './container-engine.js';

const spec: ContainerSpec = {
  imageId: `sha256:${'0'.repeat(64)}`,
  runtime: 'runc',
  command: ['python3', '-c', 'pass', '--privileged'],
  environment: { SECRET: 'hunter2' },
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

const profile = '/secbox/seccomp.json';
const commandOf = (changes: Partial<ContainerSpec> = {}) =>
  createCommand({ ...spec, ...changes }, profile, []);
const option = (name: string, changes: Partial<ContainerSpec>) =>
  commandOf(changes)
    .filter((word) => word.startsWith(`--${name}=`))
    .map((word) => word.slice(name.length + 3));

describe('the create command', () => {
  test('says everything that keeps a program in, and nothing else', () => {
    expect(createCommand(spec, profile, ['--env-file=/x'])).toEqual([
      'create',
      '--pull=never',
      '--interactive',
      '--runtime=runc',
      '--network=none',
      '--ipc=private',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      '--security-opt=seccomp=/secbox/seccomp.json',
      '--user=1000:1000',
      '--read-only=true',
      '--tmpfs=/tmp:rw,exec,nosuid,nodev,size=134217728,mode=1777',
      '--tmpfs=/home/sandbox:rw,exec,nosuid,nodev,size=67108864,mode=0700,uid=1000,gid=1000',
      '--shm-size=16777216',
      '--memory=536870912',
      '--memory-swap=536870912',
      '--cpus=1.500000000',
      '--pids-limit=64',
      '--ulimit=core=0:0',
      '--ulimit=fsize=2147483648:2147483648',
      '--ulimit=nofile=1024:1024',
      '--log-driver=none',
      '--no-healthcheck',
      '--restart=no',
      '--label=secbox=exec',
      '--label=secbox.exec_id=exec',
      '--label=secbox.data_dir=/data',
      '--mount=type=bind,source=/data/inputs,target=/workspace/inputs,bind-propagation=rprivate,readonly',
      '--mount=type=bind,source=/data/work,target=/workspace/work,bind-propagation=rprivate',
      '--mount=type=bind,source=/data/artifacts,target=/workspace/artifacts,bind-propagation=rprivate',
      '--env-file=/x',
      '--workdir=/workspace/work',
      '--entrypoint=',
      '--',
      spec.imageId,
      ...spec.command,
    ]);
  });

  test('lets mounts of the host through where it is asked to, and only from there', () => {
    expect(option('mount', { mountPropagation: 'rslave' })).toEqual(
      option('mount', {}).map((mount) => mount.replace('=rprivate', '=rslave')),
    );
  });

  test('has the init start something ahead, and nothing else', () => {
    const command = ['/sbin/secbox-init'];
    expect(commandOf({ command, prestart: 'python' })).toEqual([
      ...commandOf({ command }),
      '--prestart=python',
    ]);
    expect(() => commandOf({ prestart: 'python' })).toThrow('Only the init');
  });

  test('holds no value of a variable', () => {
    expect(commandOf().join('\n')).not.toContain('hunter2');
  });

  test('keeps each option and its value in one word, and ends the options before the image', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.string(), fc.string(), (command, imageId, workingDirectory) => {
        const words = commandOf({ command, imageId, workingDirectory });
        const end = words.indexOf('--');
        expect(words.slice(1, end).every((word) => word.startsWith('--'))).toBe(true);
        expect(words.slice(end + 1)).toEqual([imageId, ...command]);
        expect(end).toBe(commandOf().indexOf('--'));
      }),
    );
  });

  test('quotes a path in a mount so that it stays one field', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', 'a', ',', '"', '=', ' ', "'", '\\', 'é', '\n') }),
        (source) => {
          const [, mount = ''] = option('mount', { mounts: { ...spec.mounts, work: source as MountSource } });
          expect(parseCsv(mount)).toEqual([
            'type=bind',
            `source=${source}`,
            'target=/workspace/work',
            'bind-propagation=rprivate',
          ]);
        },
      ),
    );
  });

  test.each([
    [1, '1.000000000'],
    [0.1, '0.100000000'],
    [1e-9, '0.000000001'],
    [1 / 3, '0.333333333'],
    [7.9999999999, '8.000000000'],
    [255.000000001, '255.000000001'],
  ])('writes %p cpus as digits', (cpus, digits) => {
    expect(option('cpus', { cpus })).toEqual([digits]);
  });

  test.each<Partial<ContainerSpec>>([
    { memoryBytes: 0 },
    { memoryBytes: -1 },
    { memoryBytes: NaN },
    { memoryBytes: 1.5 },
    { cpus: 0 },
    { cpus: Infinity },
    { cpus: 1e-10 },
    { pids: 0 },
    { pids: -1 },
    { maxFileBytes: -1 },
    { pids: '64' as unknown as number },
  ])('is refused where a limit is none to the program: %p', (changes) => {
    expect(() => commandOf(changes)).toThrow('is no limit');
  });
});

/** As the docker program reads a mount: a quote opens a field only at its beginning, and stands for itself twice. */
function parseCsv(line: string): string[] {
  const fields = line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))(?=,|$)/gy);
  return Array.from(fields, ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}
