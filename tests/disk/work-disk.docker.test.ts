import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loopFilesBelow, loopFilesGone, mountedBelow, onLinuxAsRoot } from './host-view.js';
import { putSandboxSettings } from './put-settings.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';

const whereDisksAre = onLinuxAsRoot ? describe : describe.skip;

const mebibyte = 1024 ** 2;
const quota = 64 * mebibyte;

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
  await putSandboxSettings(service.url, { project_work_mb: 64 });
});
afterAll(() => service.close());

/** What a project's work takes of the host's disk. */
async function takenBy(project: string): Promise<number> {
  return (await stat(join(service.dataDir, 'workspace/disks', project, 'disk.img'))).blocks * 512;
}

(onLinuxAsRoot ? test : test.skip)('the limit of work is hard, and said so', async () => {
  const { disk } = (await (await fetch(`${service.url}/sandbox/health`)).json()) as { disk: unknown };
  expect(disk).toMatchObject({ work: { kind: 'hard', limit_bytes: quota }, artifacts: { kind: 'soft' } });
});

whereDisksAre('work is full at its quota (case 33)', () => {
  test('by writing: the program is told, the host and the API go on, and the row has it', async () => {
    const full = await service.shell('dd if=/dev/zero of=fill bs=1M count=100; stat -c %s fill', {
      project_id: 'writes',
    });
    expect(full.stderr).toContain('No space left on device');
    expect(Number(full.stdout)).toBeGreaterThan(quota * 0.8);
    expect(Number(full.stdout)).toBeLessThan(quota);
    expect(full).toMatchObject({ status: 'succeeded', error_reason: null });
    expect(await takenBy('writes')).toBeLessThanOrEqual(quota);
    const row: unknown = await (await fetch(`${service.url}/sandbox/execs/${full.exec_id}`)).json();
    expect(row).toEqual(full);
    expect((await service.shell('echo on; cat fill | wc -c', { project_id: 'other' })).stdout).toBe(
      'on\n0\n',
    );
  });

  test('by many small files: inodes end first', async () => {
    const { stdout } = await service.python(
      `
import os
made = 0
try:
    for made in range(100000):
        os.close(os.open(f'file{made}', os.O_CREAT))
except OSError as error:
    print(error.strerror, made)
`,
      { project_id: 'inodes' },
    );
    expect(stdout).toMatch(/^No space left on device 8\d{3}\n$/);
  });

  test('by files without a name, held open or only mapped; their space comes back at the end', async () => {
    const { stdout } = await service.python(
      `
import mmap, os
held, maps = [], []
def grow():
    file = open('gone', 'w+b', buffering=0)
    os.unlink('gone')
    for _ in range(8):
        file.write(bytes(1 << 20))
    if len(held) % 2:
        maps.append(mmap.mmap(file.fileno(), 1 << 23))
        file.close()
    held.append(file)
try:
    for _ in range(100):
        grow()
except OSError as error:
    print(error.strerror, len(held) < 8, os.listdir())
`,
      { project_id: 'unlinked' },
    );
    expect(stdout).toBe('No space left on device True []\n');
    const after = await service.shell('dd if=/dev/zero of=again bs=1M count=40 2>/dev/null && echo room', {
      project_id: 'unlinked',
    });
    expect(after.stdout).toBe('room\n');
  });

  test('preallocation is refused, and the C library writes instead', async () => {
    const { stdout } = await service.python(
      `
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
for folder in ('/workspace/work', '/workspace/artifacts', '/tmp'):
    file = open(f'{folder}/reserved', 'w+b')
    for flags in (0, 1):
        libc.fallocate(file.fileno(), flags, ctypes.c_long(0), ctypes.c_long(1 << 33))
        print(os.strerror(ctypes.get_errno()), end='; ')
    space = ctypes.create_string_buffer(struct.pack('hhqqIi16x', 0, 0, 0, 1 << 33, 0, 0))
    libc.ioctl(file.fileno(), ctypes.c_ulong(0x4030582a), space)
    print(os.strerror(ctypes.get_errno()), end='; ')
    os.posix_fallocate(file.fileno(), 0, 1 << 20)
    print(os.fstat(file.fileno()).st_blocks * 512 >= 1 << 20)
`,
      { project_id: 'preallocation' },
    );
    const refused = 'Operation not supported; '.repeat(3);
    expect(stdout.split('\n')).toEqual([`${refused}True`, `${refused}True`, `${refused}True`, '']);
  });

  test('a file longer than can be of use is refused wherever it lies', async () => {
    const answer = await service.shell('truncate -s 1T big', { exec: { cwd: '/workspace/artifacts' } });
    expect(answer).toMatchObject({ status: 'failed', signal: 'SIGXFSZ' });
  });
});

whereDisksAre('a disk', () => {
  test('belongs to the program, shows nothing of ours, and lets no device or setuid file work', async () => {
    const { stdout } = await service.shell(
      'ls -A; stat -c "%u %g %a" .; grep " /workspace/work " /proc/self/mounts',
      { project_id: 'clean' },
    );
    const [owner, mount] = stdout.trim().split('\n');
    expect(owner).toBe('1000 1000 755');
    expect(mount).toMatch(/ ext4 rw,nosuid,nodev/);
  });

  test('is mounted once for execs that come at the same time, and keeps what they write', async () => {
    await Promise.all(
      Array.from({ length: 6 }, (_, n) => service.shell(`echo ${n} > f${n}`, { project_id: 'together' })),
    );
    expect((await service.shell('cat f?', { project_id: 'together' })).stdout).toBe('0\n1\n2\n3\n4\n5\n');
    expect(mountedBelow(service.dataDir).filter((point) => point.includes('/together/'))).toHaveLength(1);
    expect(loopFilesBelow(service.dataDir).filter((file) => file.includes('/together/'))).toHaveLength(1);
  });

  test('gives the space of removed files back to the host', async () => {
    await service.shell('dd if=/dev/urandom of=fill bs=1M count=40; sync', { project_id: 'back' });
    expect(await takenBy('back')).toBeGreaterThan(40 * mebibyte);
    await service.shell('rm fill; sync', { project_id: 'back' });
    while ((await takenBy('back')) > 10 * mebibyte) await new Promise((resolve) => setTimeout(resolve, 50));
  });

  test('grows with the Setting when it is next mounted, and never shrinks', async () => {
    const size = async () =>
      Number(
        (await service.shell('test -s kept && df -B1M --output=size . | tail -1', { project_id: 'grows' }))
          .stdout,
      );
    await service.shell('printf 1 > kept', { project_id: 'grows' });
    const before = await size();
    await service.stop();
    service = await startRunningService({}, service.dataDir);
    await putSandboxSettings(service.url, { project_work_mb: 128 });
    const after = await size();
    expect(after).toBeGreaterThan(before + 50);
    await service.stop();
    service = await startRunningService({}, service.dataDir);
    await putSandboxSettings(service.url, { project_work_mb: 64 });
    expect(await size()).toBe(after);
  });

  test('is unmounted when the server stops, and its folder cannot take permissions away for good', async () => {
    await service.shell('echo mine > f; chmod 000 .', { project_id: 'locked' });
    await service.stop();
    expect(mountedBelow(service.dataDir)).toEqual([]);
    await loopFilesGone(service.dataDir);
    service = await startRunningService({}, service.dataDir);
    expect((await service.shell('cat f', { project_id: 'locked' })).stdout).toBe('mine\n');
  });
});
