import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containersGone } from './engine-view.js';
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
      truncated_by: [],
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

  test('work and inputs outlive an exec, /tmp does not', async () => {
    const first = await service.shell('echo kept > file; echo t > /tmp/t; echo started', {
      project_id: 'keep',
    });
    expect(first).toMatchObject({ status: 'succeeded', stdout: 'started\n' });
    const second = await service.shell('cat file; ls /tmp | wc -l', {
      project_id: 'keep',
    });
    expect(second.stdout).toBe('kept\n0\n');
    await containersGone(service.dataDir);
  });
});

describe('what is published', () => {
  test('cannot be changed by what the program left running, whatever it tries (case 28)', async () => {
    const writer = `
import os, signal, sys
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    if os.fork(): os._exit(0)
    os.setsid()
    for name in ("kept", "stdout.txt", "manifest.json", "new-%d" % os.getpid()):
        with open("/workspace/artifacts/" + name, "a") as file: file.write("x")
`;
    const answer = await service.python(
      `import subprocess, sys, time
for _ in range(8): subprocess.Popen([sys.executable, "-c", ${JSON.stringify(writer)}])
while not __import__("os").path.exists("/workspace/artifacts/kept"): time.sleep(0.01)
print("done")`,
      { project_id: 'writers' },
    );
    expect(answer).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
    const seen = async () => {
      const names = (await readdir(answer.artifacts_dir)).sort();
      const contents = names.map((name) => readFile(join(answer.artifacts_dir, name), 'latin1'));
      return Promise.all(contents).then((read) => names.map((name, index) => [name, read[index]]));
    };
    const before = await seen();
    for (const { path, sha256: told } of answer.artifacts) {
      const content = await readFile(join(answer.artifacts_dir, path));
      expect(sha256(content)).toBe(told);
    }
    await containersGone(service.dataDir);
    expect(await seen()).toEqual(before);
  });
});

describe('how an exec ends', () => {
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

  test('a script runs in a login shell, with the path of a user', async () => {
    const { stdout } = await service.shell('shopt -q login_shell && echo "$PATH"');
    expect(stdout).toBe('/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games\n');
  });

  test('a program that does not read its stdin is not held up by it', async () => {
    const answer = await service.shell('exec <&-; echo done', { exec: { stdin: 'x'.repeat(1_000_000) } });
    expect(answer).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
  });
});
