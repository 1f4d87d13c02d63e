import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { fileAppears } from '../exec/file-appears.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { onLinuxAsRoot } from './host-view.js';
import { putSandboxSettings } from './put-settings.js';
import { fillDisk, makeSmallDisk, type SmallDisk } from './small-disk.js';

const whereDisksAre = onLinuxAsRoot ? describe : describe.skip;

const mebibyte = 1024 ** 2;
const floor = 100;

let disk: SmallDisk;
let service: RunningService;
beforeEach(async () => {
  disk = await makeSmallDisk(400 * mebibyte);
  service = await startRunningService({}, disk.path);
});
afterEach(async () => {
  await service.stop();
  await disk.remove();
});

async function free(): Promise<number> {
  const { bavail, bsize } = await statfs(disk.path);
  return bavail * bsize;
}

/** Fills a folder until it is ended, no faster than a disk would. */
const filling = (folder: string, megabytes: number) => `
import time
print('begun', flush=True)
with open('/workspace/${folder}/fill', 'wb', buffering=0) as file:
    for _ in range(${megabytes}):
        file.write(bytes(1 << 20))
        time.sleep(0.01)
time.sleep(250)
`;
const reason =
  /^ended to keep the server's disk from filling up: \d+ bytes are free, less than the 100 MB that must be$/;
const large = { policy_overrides: { max_artifacts_bytes_total: 1024 * mebibyte, timeout_ms: 300_000 } };

whereDisksAre('a disk that fills up (case 33)', () => {
  test('below the floor nothing starts, nothing is recorded, and health says why', async () => {
    await expect(service.shell('true')).rejects.toThrow(/^503 .*"disk_full"/);
    const response = await fetch(`${service.url}/sandbox/health`);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      problems: ['disk: nearly full; no exec starts until there is room again.'],
      database_writable: true,
      disk: { min_free_bytes: 1024 * mebibyte },
    });
    await putSandboxSettings(service.url, { min_free_mb: floor, project_work_mb: 64 });
    expect((await service.shell('echo on')).stdout).toBe('on\n');
  });

  test('through artifacts: who fills it is ended and told, others go on, and the database writes', async () => {
    await putSandboxSettings(service.url, { min_free_mb: floor, project_work_mb: 64 });
    const innocent = service.shell('touch begun; while [ ! -e go ]; do sleep 0.05; done; echo done', {
      project_id: 'innocent',
    });
    await fileAppears(join(disk.path, 'workspace/projects/innocent/work/begun'));
    const filled = await service.python(filling('artifacts', 390), large);
    expect(filled).toMatchObject({ status: 'failed', stdout: 'begun\n' });
    expect(filled.error_reason).toMatch(reason);
    expect(await free()).toBeGreaterThan((floor / 4) * mebibyte);
    const row: unknown = await (await fetch(`${service.url}/sandbox/execs/${filled.exec_id}`)).json();
    expect(row).toEqual(filled);
    // What it left is within its own cap, and so stays; the floor is an administrator's to lower.
    await putSandboxSettings(service.url, { min_free_mb: 10, project_work_mb: 64 });
    await service.shell('touch go', { project_id: 'innocent' });
    expect(await innocent).toMatchObject({ status: 'succeeded', stdout: 'done\n' });
  });

  test('through a disk of a project that may be larger than what is left', async () => {
    await putSandboxSettings(service.url, { min_free_mb: floor, project_work_mb: 2048 });
    const filled = await service.python(filling('work', 390), large);
    expect(filled.status).toBe('failed');
    expect(filled.error_reason).toMatch(reason);
    await expect(service.shell('true')).rejects.toThrow('disk_full');
    await putSandboxSettings(service.url, { min_free_mb: 10, project_work_mb: 2048 });
    expect((await service.shell('rm fill; sync; echo removed')).stdout).toBe('removed\n');
    while ((await free()) < 2 * floor * mebibyte) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  test('who waits meanwhile, in a project that has no disk yet, does not end, and runs when there is room', async () => {
    const names = ['a', 'b', 'c'];
    await putSandboxSettings(service.url, {
      min_free_mb: floor,
      project_work_mb: 64,
      max_concurrent_execs: names.length,
    });
    const running = names.map((name) => service.shell(`touch ${name}; sleep 300`, { project_id: 'running' }));
    for (const name of names) await fileAppears(join(disk.path, 'workspace/projects/running/work', name));
    const waiting = names.map((name) => service.shell('echo ran', { project_id: name }));
    const queued = async () => {
      const list = await fetch(`${service.url}/sandbox/execs?status=queued`);
      return ((await list.json()) as { execs: unknown[] }).execs.length;
    };
    while ((await queued()) < waiting.length) await new Promise((resolve) => setTimeout(resolve, 20));
    // They are ended for room, with enough left to keep their results, so that all who wait have their turn and find none.
    const fillers = ['nearly', 'filler'].map((name) => join(disk.path, name)) as [string, string];
    const nearly = (await free()) - (floor / 8) * mebibyte;
    execFileSync('fallocate', ['--length', `${nearly}`, fillers[0]]);
    for (const ended of await Promise.all(running))
      expect(ended.error_reason).toMatch(/^ended to keep the server's disk from filling up/);
    await fillDisk(fillers[1]);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect(await queued()).toBe(waiting.length);
    for (const name of names) expect(existsSync(join(disk.path, 'workspace/disks', name))).toBe(false);
    for (const filler of fillers) await rm(filler);
    for (const answer of await Promise.all(waiting))
      expect(answer).toMatchObject({ status: 'succeeded', stdout: 'ran\n' });
  });

  test('so fast that it is full at once: it is ended, and every row is written in the end', async () => {
    await putSandboxSettings(service.url, { min_free_mb: floor, project_work_mb: 2048 });
    const answers = await Promise.all([
      service.python("open('fill', 'wb').write(bytes(500 << 20))", { ...large, project_id: 'work' }),
      service.python("open('/workspace/artifacts/fill', 'wb').write(bytes(500 << 20))", {
        policy_overrides: { max_artifacts_bytes_total: mebibyte },
        project_id: 'artifacts',
      }),
    ]);
    for (const answer of answers) {
      expect(answer.status).toBe('failed');
      const row: unknown = await (await fetch(`${service.url}/sandbox/execs/${answer.exec_id}`)).json();
      expect(row).toEqual(answer);
    }
    await putSandboxSettings(service.url, { min_free_mb: 10, project_work_mb: 2048 });
    const after = await service.shell('rm -f fill; echo usable > note; cat note', { project_id: 'work' });
    expect(after.stdout).toBe('usable\n');
  });
});
