import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { ExecAnswer } from '@secbox/contracts';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { hardeningOf } from '../cases/inspected-hardening.js';
import { containersOf, inspectContainer } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pooled, pooledContainers, poolHas, poolOf } from './pooled.js';

const api = () => new EngineApi({ host: process.env['DOCKER_HOST'] ?? '' });
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const size = 2;

describe('execs that find a container started', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startRunningService(pooled(size));
  });
  afterAll(async () => {
    await service.close();
    expect(await containersOf(service.dataDir)).toEqual([]);
    expect(mountsBelow(service.dataDir)).toEqual([]);
  });
  beforeEach(() => poolHas(service.url, size));

  const warm = async (script: string, more: Record<string, unknown> = {}): Promise<ExecAnswer> => {
    await poolHas(service.url, size);
    const answer = await service.shell(script, more);
    expect(answer.start_mode).toBe('warm');
    return answer;
  };

  test('see their inputs, work and artifacts, and leave their results as any exec does', async () => {
    const answer = await warm(
      'cat /workspace/inputs/data/in.txt; echo kept > kept; cp kept /workspace/artifacts/x',
      {
        inputs: [{ path: 'data/in.txt', content: 'given\n' }],
      },
    );
    expect(answer).toMatchObject({
      status: 'succeeded',
      stdout: 'given\n',
      artifacts: [{ path: 'x', size: 5 }],
    });
    const meta = JSON.parse(await readFile(join(answer.artifacts_dir, 'meta.json'), 'utf8')) as {
      readonly docker_mounts: readonly { readonly source: string }[];
    };
    expect(meta.docker_mounts.map(({ source }) => source)).toEqual([
      join(service.dataDir, 'workspace/projects/p/inputs'),
      join(service.dataDir, 'workspace/projects/p/work'),
      answer.artifacts_dir,
    ]);
    expect((await warm('cat kept')).stdout).toBe('kept\n');
  });

  test('of a new project are as warm as those of one that is busy', async () => {
    for (const project of ['new-1', 'new-2', 'new-3']) await warm('pwd', { project_id: project });
  });

  test('share no process, no memory and no scratch with the one before', async () => {
    const leave =
      'echo secret > /tmp/left; echo secret > /dev/shm/left; echo secret > ~/left; (setsid sleep 600 &) ; hostname';
    const first = await warm(leave);
    const look = 'ls -A /tmp /dev/shm ~ | grep -v ":$" | grep -c left; ls -d /proc/[0-9]* | wc -l; hostname';
    const [left, processes, hostname] = (await warm(look)).stdout.trim().split('\n');
    expect(left).toBe('0');
    // Init, the shell, ls and wc.
    expect(Number(processes)).toBeLessThanOrEqual(4);
    expect(hostname).not.toBe(first.stdout.trim());
  });

  test('run under their own limits, whatever the container was started with', async () => {
    const limits =
      'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null; ' +
      'cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null';
    const overrides = { policy_overrides: { memory_mb: 96, pids: 32, cpu_cores: 0.5 } };
    expect((await warm(limits, overrides)).stdout).toBe(`${96 * 1024 ** 2}\n32\n`);
    const eats = await warm('python3 -c "x = bytearray(300 * 1024 ** 2)"', overrides);
    expect(eats).toMatchObject({ status: 'oom_killed', oom: true });
    const late = await warm('sleep 60', { policy_overrides: { timeout_ms: 1000 } });
    expect(late.status).toBe('timed_out');
  });

  test('inspected, equal a cold one in every field that hardens', async () => {
    const [waiting] = await pooledContainers(service.dataDir);
    const warmOne = hardeningOf(await inspectContainer(waiting?.Id ?? ''));
    const golden = JSON.parse(
      (await readFile(new URL('../cases/inspect.golden.json', import.meta.url), 'utf8')).replaceAll(
        '<data>',
        service.dataDir,
      ),
    ) as Record<string, unknown> & { readonly HostConfig: object };
    const rest = ({
      Labels: _labels,
      WorkingDir: _folder,
      Mounts,
      HostConfig,
      ...others
    }: Record<string, unknown>) => ({
      ...others,
      HostConfig: { ...(HostConfig as object), Mounts: undefined },
      Mounts: (Mounts as { Type: string; Destination: string; RW: boolean }[]).map(
        ({ Type, Destination, RW }) => ({
          Type,
          Destination,
          RW,
        }),
      ),
    });
    expect(rest(warmOne)).toEqual(rest(golden));
    const sources = (warmOne['Mounts'] as { Source: string; Propagation: string }[]).map(
      ({ Source, Propagation }) => [
        Source.startsWith(join(service.dataDir, 'workspace/slots/')),
        Propagation,
      ],
    );
    expect(sources).toEqual([
      [true, 'rslave'],
      [true, 'rslave'],
      [true, 'rslave'],
    ]);
  });

  test('a container that waits sees nobody’s files, also while others run', async () => {
    await warm('echo secret > /workspace/work/s; echo secret > /workspace/artifacts/s', {
      inputs: [{ path: 's', content: 'secret' }],
    });
    await poolHas(service.url, size);
    for (const { Id } of await pooledContainers(service.dataDir)) {
      expect(await runIn(Id, 'touch /workspace/work/x')).toContain('Permission denied');
      expect(await runIn(Id, 'ls -A /tmp; ls -A ~; ls -A /dev/shm')).toBe('');
      expect(await runIn(Id, 'find /workspace -mindepth 2')).toBe('');
    }
  });

  test('one that died while it waited is noticed: the exec runs, once', async () => {
    for (const { Id } of await pooledContainers(service.dataDir)) {
      await api().call('POST', `/containers/${Id}/kill`);
    }
    const answers = await Promise.all(
      ['1', '2', '3'].map((n) => service.shell(`echo ${n} | tee -a ran-${n}`)),
    );
    expect(answers.map(({ status, stdout }) => [status, stdout])).toEqual([
      ['succeeded', '1\n'],
      ['succeeded', '2\n'],
      ['succeeded', '3\n'],
    ]);
    await poolHas(service.url, size);
    expect((await warm('cat ran-*')).stdout).toBe('1\n2\n3\n');
  });

  test('more at once than wait all run, each in a container of its own', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => service.shell('hostname', { project_id: `burst-${n}` })),
    );
    expect(answers.every(({ status }) => status === 'succeeded')).toBe(true);
    expect(new Set(answers.map(({ stdout }) => stdout)).size).toBe(6);
    expect(answers.filter(({ start_mode: mode }) => mode === 'warm').length).toBeGreaterThanOrEqual(size);
  });

  test('what goes on writing after its main process ended changes nothing that was published', async () => {
    const writer = (target: string) =>
      `setsid sh -c 'while :; do date +%N >> ${target}; done' </dev/null >/dev/null 2>&1 &`;
    const answer = await warm(
      `echo first > /workspace/artifacts/a; ${writer('/workspace/artifacts/a')} ${writer('/workspace/artifacts/b')} sleep 0.2`,
    );
    const at = (name: string) => readFile(join(answer.artifacts_dir, name));
    const [manifest, before] = [await at('manifest.json'), await at('a')];
    for (const { path, sha256: told } of answer.artifacts) expect(sha256(await at(path))).toBe(told);
    await pause(300);
    expect([await at('manifest.json'), await at('a')]).toEqual([manifest, before]);
  });

  const put = async (body: object) => {
    const current = await fetch(`${service.url}/settings`);
    const response = await fetch(`${service.url}/settings`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', 'if-match': current.headers.get('etag') ?? '' },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(200);
  };

  test('python runs in the one that was started ahead, until Settings forbid it', async () => {
    const isAhead = async () => {
      await poolHas(service.url, size);
      const { start_mode, stdout } = await service.python(
        "print('python-ahead' in open('/proc/self/maps').read())",
      );
      return [start_mode, stdout];
    };
    expect(await isAhead()).toEqual(['warm', 'True\n']);
    const before = (await pooledContainers(service.dataDir)).map(({ Id }) => Id);
    await put({ sandbox: { python_ahead: false } });
    const isThere = async () =>
      (await pooledContainers(service.dataDir)).some(({ Id }) => before.includes(Id));
    while (await isThere()) await pause(20);
    expect(await isAhead()).toEqual(['warm', 'False\n']);
    await put({});
  });

  test('Settings decide how many wait', async () => {
    await put({ sandbox: { pool_size: 0 } });
    while ((await containersOf(service.dataDir)).length > 0) await pause(20);
    expect(await poolOf(service.url)).toEqual({ warm: false, why: 'sandbox.pool_size is 0' });
    expect((await service.shell('true')).start_mode).toBe('cold');
    // Of those, one that fits the new limits.
    await put({ sandbox: { pool_size: 1 }, policy: { values: { memory_mb: 256 } } });
    await poolHas(service.url, 1);
    const [waiting] = await pooledContainers(service.dataDir);
    expect(await inspectContainer(waiting?.Id ?? '')).toMatchObject({
      HostConfig: { Memory: 256 * 1024 ** 2 },
    });
    await put({});
    await poolHas(service.url, size);
  });
});

describe('a server', () => {
  let service: RunningService | undefined;
  afterEach(() => service?.close());

  test('without the program that mounts says why no container waits, and runs execs all the same', async () => {
    service = await startRunningService({ SECBOX_POOL_SIZE: '2' });
    while ((await poolOf(service.url)).why === 'it is being tried') await pause(20);
    expect(await poolOf(service.url)).toEqual({
      warm: false,
      why: 'set-up made no mounts helper (SECBOX_MOUNTS_PROGRAM)',
    });
    expect(await service.shell('echo on')).toMatchObject({ start_mode: 'cold', stdout: 'on\n' });
  });

  test('a container that says it is of the pool, and is not, is an alarm', async () => {
    service = await startRunningService(pooled(1));
    await poolHas(service.url, 1);
    const [known] = await pooledContainers(service.dataDir);
    const { Image } = (await inspectContainer(known?.Id ?? '')) as { readonly Image: string };
    const { Id } = (await api().call('POST', '/containers/create', {
      json: {
        Image,
        Cmd: ['true'],
        HostConfig: { NetworkMode: 'none' },
        Labels: { secbox: 'pool', 'secbox.data_dir': service.dataDir },
      },
    })) as { readonly Id: string };
    await api().call('POST', `/containers/${Id}/start`);
    while (!service.log().includes('the pool did not make it')) await pause(20);
    await api().call('DELETE', `/containers/${Id}`, { query: { force: '1' } });
  });
});

/** What a program prints that somebody with the engine in their hands runs in a container beside its own. */
async function runIn(container: string, script: string): Promise<string> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    execFile('docker', ['exec', container, 'sh', '-c', `{ ${script}; } 2>&1`], (_error, stdout) =>
      resolve(stdout),
    );
  });
}
