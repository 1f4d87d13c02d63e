import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { startProcess, type ServerProcess } from '../lifecycle/server-process.js';
import { loopFilesGone, mountedBelow, onLinuxAsRoot } from './host-view.js';
import { putSandboxSettings } from './put-settings.js';

const whereDisksAre = onLinuxAsRoot ? describe : describe.skip;

let dataDir: string;
let service: RunningService | undefined;
beforeEach(async () => {
  service = undefined;
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-mounts-'));
});
afterEach(async () => {
  await service?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const main = [process.execPath, 'apps/core-api/dist/main.js'];
/** What is mounted in a mount namespace of its own, no engine sees. */
const apart = ['unshare', '--mount', '--propagation', 'private', ...main];

async function serve([command = '', ...args]: readonly string[]): Promise<{
  readonly server: ServerProcess;
  readonly url: string;
}> {
  const server = startProcess(command, args, { SECBOX_DATA_DIR: dataDir, SECBOX_AUTH: 'off' });
  const [, url = ''] = await server.waitFor(/Secbox serves on (http:\S+)/);
  return { server, url };
}

async function python(url: string, project: string, code: string): Promise<ExecAnswer> {
  const response = await fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: project,
      exec: { kind: 'python', command: 'python', args: ['-c', code] },
    }),
  });
  return (await response.json()) as ExecAnswer;
}

whereDisksAre('where the engine does not see our mounts', () => {
  test('work is watched: health says why, and who goes past the limit is ended (case 33)', async () => {
    const { server, url } = await serve(apart);
    try {
      expect(await (await fetch(`${url}/sandbox/health`)).json()).toMatchObject({
        status: 'ok',
        disk: { work: { kind: 'soft', why: 'the engine does not see what this process mounts' } },
      });
      await putSandboxSettings(url, { project_work_mb: 64 });
      const fine = await python(url, 'fine', "open('f', 'w').write('x'); print('fine')");
      expect(fine).toMatchObject({ status: 'succeeded', stdout: 'fine\n' });
      const written = "open('fill', 'wb').write(bytes(60 << 20)); open('more', 'wb').write(bytes(20 << 20))";
      const unlinked = `
import os
file = open('gone', 'wb')
os.unlink('gone')
file.write(bytes(60 << 20))
file.flush()
open('more', 'wb').write(bytes(20 << 20))
`;
      for (const [project, code] of [
        ['written', written],
        ['unlinked', unlinked],
      ] as const) {
        const ended = await python(url, project, `${code}\nimport time\ntime.sleep(250)`);
        expect(ended.status).toBe('failed');
        expect(ended.error_reason).toMatch(/^ended: work held \d+ bytes, more than the 67108864 it may$/);
      }
    } finally {
      await server.end('SIGTERM');
    }
  });

  test('a project whose files are on a disk is refused, not run without them', async () => {
    service = await startRunningService({}, dataDir);
    await service.shell('echo kept > f');
    await service.stop();
    const { server, url } = await serve(apart);
    try {
      expect(await python(url, 'p', 'print(1)')).toMatchObject({
        error: { kind: 'unavailable', code: 'work_unavailable' },
      });
      expect(await python(url, 'other', 'print(1)')).toMatchObject({ stdout: '1\n' });
    } finally {
      await server.end('SIGTERM');
    }
    service = await startRunningService({}, dataDir);
    expect((await service.shell('cat f')).stdout).toBe('kept\n');
  });

  test('what a plain folder holds is on the disk when there can be one', async () => {
    const { server, url } = await serve(apart);
    const made = await python(
      url,
      'p',
      `
import os
os.makedirs('a/b')
open('a/b/file', 'w').write('text')
os.link('a/b/file', 'hard')
os.symlink('/etc/shadow', 'link')
os.mkfifo('fifo')
open('sparse', 'wb').truncate(1 << 30)
os.mkdir('closed'); open('closed/in', 'w').write('in'); os.chmod('closed', 0)
`,
    );
    expect(made.status).toBe('succeeded');
    await server.end('SIGTERM');

    service = await startRunningService({}, dataDir);
    const { stdout } = await service.python(`
import os
print(sorted(os.listdir()), os.stat('hard').st_nlink, os.readlink('link'), os.stat('sparse').st_size)
print(open('a/b/file').read(), oct(os.stat('closed').st_mode), os.stat('closed').st_uid)
`);
    expect(stdout.split('\n')).toEqual([
      "['a', 'closed', 'fifo', 'hard', 'link', 'sparse'] 2 /etc/shadow 1073741824",
      'text 0o40000 1000',
      '',
    ]);
    expect(await readdir(join(dataDir, 'workspace/disks/p'))).not.toContain('set-aside');
    await service.stop();
    expect(await readdir(join(dataDir, 'workspace/projects/p/work'))).toEqual([]);
  });
});

whereDisksAre('a server that was killed', () => {
  test('with disks mounted: the next start unmounts them, and they have what was written', async () => {
    const { server, url } = await serve(main);
    expect(await python(url, 'p', "open('f', 'w').write('kept')")).toMatchObject({ status: 'succeeded' });
    await server.end('SIGKILL');
    expect(mountedBelow(dataDir).filter((point) => point.includes('/projects/'))).toHaveLength(1);

    service = await startRunningService({}, dataDir);
    expect(mountedBelow(dataDir).filter((point) => point.includes('/projects/'))).toEqual([]);
    expect((await service.shell('cat f')).stdout).toBe('kept');
    await service.stop();
    expect(mountedBelow(dataDir)).toEqual([]);
    await loopFilesGone(dataDir);
  });

  test('leaves mounts of others alone', async () => {
    const beside = `${dataDir}-beside`;
    const { server } = await serve(main);
    await server.end('SIGKILL');
    await mkdir(join(beside, 'workspace'), { recursive: true });
    await writeFile(join(beside, 'workspace/f'), 'theirs');
    await mkdir(join(dataDir, 'mounted'));
    execFileSync('mount', ['--bind', beside, join(dataDir, 'mounted')]);
    try {
      service = await startRunningService({}, dataDir);
      expect(await readFile(join(dataDir, 'mounted/workspace/f'), 'utf8')).toBe('theirs');
      await service.stop();
    } finally {
      execFileSync('umount', [join(dataDir, 'mounted')]);
      await rm(beside, { recursive: true });
    }
  });
});
