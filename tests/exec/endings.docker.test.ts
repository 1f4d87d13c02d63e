import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containersOf, inspectContainer, runningContainer } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');

describe('what an exec leaves behind', () => {
  test('lies where the specification says, hashed, and agrees with the row', async () => {
    const answer = await service.shell(
      'echo out; echo err >&2; mkdir -p "$A/plots"; printf "a,b\\n" > "$A/table.csv"; printf x > "$A/plots/p.svg"; exit 4',
      {
        project_id: 'layout',
        exec: { env: { A: '/workspace/artifacts', TOKEN: 'canary-91c2' } },
        inputs: [{ path: 'in/data.txt', content: 'given' }],
        task_ref: { task_id: 't' },
      },
    );
    const project = join(service.dataDir, 'workspace/projects/layout');
    const folder = join(project, 'artifacts', answer.exec_id);
    expect(answer).toMatchObject({
      artifacts_dir: folder,
      stdout_path: join(folder, 'stdout.txt'),
      stderr_path: join(folder, 'stderr.txt'),
    });
    expect((await readdir(project)).sort()).toEqual(['artifacts', 'inputs', 'work']);
    expect((await readdir(folder)).sort()).toEqual([
      'manifest.json',
      'meta.json',
      'plots',
      'stderr.txt',
      'stdout.txt',
      'table.csv',
    ]);
    expect(await readFile(join(project, 'inputs/in/data.txt'), 'utf8')).toBe('given');

    const manifest: unknown = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'));
    expect(manifest).toEqual({
      schema_version: 1,
      exec_id: answer.exec_id,
      output: {
        stdout: { path: 'stdout.txt', size: 4, sha256: sha256('out\n'), truncated: false },
        stderr: { path: 'stderr.txt', size: 4, sha256: sha256('err\n'), truncated: false },
      },
      files: [
        { path: 'plots/p.svg', size: 1, sha256: sha256('x'), media_type: 'image/svg+xml' },
        { path: 'table.csv', size: 4, sha256: sha256('a,b\n'), media_type: 'text/csv' },
      ],
      others: [],
      dropped: [],
      total_bytes: expect.any(Number),
      truncated: false,
    });

    const text = await readFile(join(folder, 'meta.json'), 'utf8');
    const meta = JSON.parse(text) as Record<string, unknown>;
    expect(meta).toMatchObject({
      exec_id: answer.exec_id,
      status: 'failed',
      exit_code: 4,
      policy_snapshot: answer.policy_snapshot,
      started_at: answer.started_at,
      duration_ms: answer.duration_ms,
      env_keys: ['A', 'TOKEN'],
      inputs: [{ path: 'in/data.txt', size: 5, sha256: sha256('given') }],
      docker_mounts: [
        { source: join(project, 'inputs'), target: '/workspace/inputs', mode: 'ro' },
        { source: join(project, 'work'), target: '/workspace/work', mode: 'rw' },
        { source: folder, target: '/workspace/artifacts', mode: 'rw' },
      ],
      set_aside: [],
    });
    expect(text).not.toContain('canary-91c2');
    expect(await readdir(join(service.dataDir, 'workspace/spool'))).toEqual([]);
  });

  test('planted reserved names are kept beside ours (case 27)', async () => {
    const answer = await service.shell(
      'cd /workspace/artifacts; for f in stdout.txt manifest.json stdout.txt.from-exec; do echo forged > $f; done; mkdir meta.json; echo real',
    );
    expect(answer.stdout).toBe('real\n');
    expect(answer.artifacts.map(({ path }) => path)).toEqual([
      'manifest.json.from-exec',
      'stdout.txt.from-exec',
      'stdout.txt.from-exec.2',
    ]);
    const meta = JSON.parse(await readFile(join(answer.artifacts_dir, 'meta.json'), 'utf8')) as Record<
      string,
      unknown
    >;
    expect(meta['set_aside']).toEqual([
      { name: 'stdout.txt', kept_as: 'stdout.txt.from-exec.2' },
      { name: 'manifest.json', kept_as: 'manifest.json.from-exec' },
      { name: 'meta.json', kept_as: 'meta.json.from-exec' },
    ]);
  });

  test('work and inputs outlive an exec, processes and /tmp do not (case 37)', async () => {
    const first = await service.shell('echo kept > file; echo t > /tmp/t; setsid sleep 999 & echo started', {
      project_id: 'keep',
    });
    expect(first).toMatchObject({ status: 'succeeded', stdout: 'started\n' });
    const second = await service.shell('cat file; ls /tmp | wc -l; pgrep sleep; true', {
      project_id: 'keep',
    });
    expect(second.stdout).toBe('kept\n0\n');
    expect(await containersOf(service.dataDir)).toEqual([]);
  });
});

describe('how an exec ends', () => {
  test('past its time: timed_out, with what it had printed (case 38)', async () => {
    const answer = await service.shell("trap '' TERM INT; echo before; while :; do sleep 0.1; done", {
      policy_overrides: { timeout_ms: 1000 },
    });
    expect(answer).toMatchObject({ status: 'timed_out', stdout: 'before\n', signal: 'SIGKILL' });
  });

  test('out of memory: oom_killed, and the service goes on (case 31)', async () => {
    const answer = await service.python('x = bytearray(400 * 1024 ** 2)', {
      policy_overrides: { memory_mb: 64 },
    });
    expect(answer).toMatchObject({ status: 'oom_killed', oom: true });
    expect((await service.shell('echo alive')).stdout).toBe('alive\n');
  });

  test('a fork bomb meets the pids limit (case 30)', async () => {
    const answer = await service.shell('bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 60', {
      policy_overrides: { timeout_ms: 1500, pids: 64 },
    });
    expect(['timed_out', 'failed', 'succeeded']).toContain(answer.status);
    expect(await containersOf(service.dataDir)).toEqual([]);
  });

  test('by a signal: told, and no core file (case 43)', async () => {
    const answer = await service.python('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)');
    expect(answer).toMatchObject({ status: 'failed', exit_code: 139, signal: 'SIGSEGV', artifacts: [] });
    const exited = await service.shell('exit 139');
    expect(exited).toMatchObject({ status: 'failed', exit_code: 139, signal: null });
  });

  test('where it could not start: told why', async () => {
    const missing = await service.shell('true', { exec: { cwd: '/workspace/work/nowhere' } });
    expect(missing).toMatchObject({ status: 'failed', exit_code: null });
    expect(missing.error_reason).toBe('The working directory cannot be entered (ENOENT).');
    const entered = await service.shell('mkdir -p here; cd here; pwd');
    expect(entered.stdout).toBe('/workspace/work/here\n');
    expect((await service.shell('pwd', { exec: { cwd: '/workspace/work/here' } })).stdout).toBe(
      '/workspace/work/here\n',
    );
  });

  test('tells what it cost', async () => {
    const answer = await service.python('x = bytearray(50 * 1024 ** 2)\nfor i in range(10 ** 6): pass');
    expect(answer.cpu_ms).toBeGreaterThan(10);
    expect(answer.peak_memory_bytes).toBeGreaterThan(50 * 1024 ** 2);
    expect(answer.peak_memory_bytes).toBeLessThan(1024 ** 3);
  });

  test('reading stdin: end of file at once, or what was given (case 36)', async () => {
    expect((await service.shell('cat; echo over')).stdout).toBe('over\n');
    const given = await service.shell('cat; echo over', { exec: { stdin: 'abc\n'.repeat(50_000) } });
    expect(sha256(await readFile(given.stdout_path))).toBe(sha256('abc\n'.repeat(50_000) + 'over\n'));
  });

  test('a program that does not read its stdin is not held up by it', async () => {
    const answer = await service.shell('exec <&-; echo done', { exec: { stdin: 'x'.repeat(1_000_000) } });
    expect(answer).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
  });
});

describe('output', () => {
  test('is exact, byte for byte (case 35)', async () => {
    const answer = await service.python(
      'import sys; b = bytes(range(256)) * 2000; sys.stdout.buffer.write(b); sys.stderr.buffer.write(b[::-1])',
    );
    const expected = Buffer.from(Array.from({ length: 256 * 2000 }, (_, index) => index % 256));
    expect(sha256(await readFile(answer.stdout_path))).toBe(sha256(expected));
    expect(sha256(await readFile(answer.stderr_path))).toBe(sha256(expected.reverse()));
  });

  test('past the cap is cut and flagged, and the program goes on (case 34)', async () => {
    const answer = await service.shell('yes | head -c 3000000; echo finished > /workspace/artifacts/end', {
      policy_overrides: { max_stdout_bytes: 100_001 },
    });
    expect(answer).toMatchObject({ status: 'succeeded', stdout_truncated: true, stderr_truncated: false });
    expect(await readFile(answer.stdout_path, 'utf8')).toBe('y\n'.repeat(50_000) + 'y');
    expect(answer.stdout).toHaveLength(65_536);
    expect(answer.artifacts).toHaveLength(1);
  });
});

describe('artifacts', () => {
  test('links, FIFOs and sockets are listed by kind and never opened (cases 21, 22)', async () => {
    const answer = await service.python(`
import os, socket
os.chdir('/workspace/artifacts')
os.symlink('/etc/shadow', 'shadow'); os.symlink('..', 'up'); os.symlink('/proc/self/environ', 'environ')
for n in range(8): os.mkfifo('fifo%d' % n)
socket.socket(socket.AF_UNIX).bind('sock')
open('plain', 'w').write('x')
`);
    expect(answer.artifacts.map(({ path }) => path)).toEqual(['plain']);
    const manifest = JSON.parse(await readFile(join(answer.artifacts_dir, 'manifest.json'), 'utf8')) as {
      others: { path: string; kind: string }[];
    };
    expect(manifest.others).toEqual([
      { path: 'environ', kind: 'symlink' },
      ...Array.from({ length: 8 }, (_, n) => ({ path: `fifo${n}`, kind: 'fifo' })),
      { path: 'shadow', kind: 'symlink' },
      { path: 'sock', kind: 'socket' },
      { path: 'up', kind: 'symlink' },
    ]);
  });

  test('a sparse gigabyte is dropped, the rest is kept, and it is said; a terabyte is refused (case 23)', async () => {
    const answer = await service.shell(
      'cd /workspace/artifacts; truncate -s 1G big; truncate -s 1T huge; echo $?; echo small > small',
    );
    expect(answer.stdout).toBe('153\n');
    expect(answer).toMatchObject({ artifacts_truncated: true });
    expect(answer.artifacts.map(({ path }) => path)).toEqual(['huge', 'small']);
    expect(await readdir(answer.artifacts_dir)).not.toContain('big');
  });
});

test('a secret in env, stdin and a marked input is in no row, log, document or error (case 67)', async () => {
  const canary = 'canary-7c41f0';
  const answer = await service.shell('test "$KEY" = "$(cat /workspace/inputs/key)" && wc -c', {
    project_id: 'secret',
    exec: { env: { KEY: canary }, stdin: canary },
    inputs: [{ path: 'key', content: canary, secret: true }],
  });
  expect(answer).toMatchObject({ status: 'succeeded', stdout: '13\n' });
  const database = await readFile(join(service.dataDir, 'secbox.db'), 'latin1');
  const log = await readFile(join(service.dataDir, 'secbox.db-wal'), 'latin1').catch(() => '');
  const meta = await readFile(join(answer.artifacts_dir, 'meta.json'), 'utf8');
  expect(JSON.parse(meta)).toMatchObject({ inputs: [{ path: 'key', secret: true }] });
  for (const text of [JSON.stringify(answer), service.log(), database, log, meta]) {
    expect(text).not.toContain(canary);
    expect(text).not.toContain(sha256(canary));
  }
});

test("the engine's own config of a running exec holds neither command nor environment (case 67)", async () => {
  const running = service.shell('while [ ! -e /workspace/work/go ]; do sleep 0.05; done', {
    project_id: 'engine-view',
    exec: { env: { KEY: 'canary-3b77e1' } },
  });
  const container = await runningContainer(service.dataDir);
  const config = JSON.stringify(await inspectContainer(container.Id));
  await service.shell('touch go', { project_id: 'engine-view' });
  expect((await running).status).toBe('succeeded');
  expect(config).toContain('/sbin/secbox-init');
  expect(config).not.toContain('canary-3b77e1');
  expect(config).not.toContain('workspace/work/go');
});
