import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, jest, test } from '@jest/globals';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { endLeaks } from '../leaks.mjs';

jest.setTimeout(60_000);

const api = new EngineApi({ host: process.env['DOCKER_HOST'] ?? '' });

interface Labels {
  readonly secbox: string;
  readonly 'secbox.data_dir': string;
}

async function createContainer(Labels: Labels): Promise<string> {
  const json = { Image: 'secbox/sandbox:latest', Labels, HostConfig: { NetworkMode: 'none' } };
  return ((await api.call('POST', '/containers/create', { json })) as { Id: string }).Id;
}
async function createVolume(Labels: Labels): Promise<string> {
  return ((await api.call('POST', '/volumes/create', { json: { Labels } })) as { Name: string }).Name;
}
const isGone = (route: string) =>
  api.call('GET', route).then(
    () => false,
    () => true,
  );

test('what tests leave behind is found, named and ended; what is of others stays', async () => {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), 'leaks-')));
  const labels = (dataDir: string) => ({ secbox: 'test', 'secbox.data_dir': dataDir });
  const [ours, theirs] = [labels(join(temporary, 'data')), labels(`${temporary}-of-another/data`)];
  const [container, otherContainer] = [await createContainer(ours), await createContainer(theirs)];
  const [volume, otherVolume] = [await createVolume(ours), await createVolume(theirs)];
  try {
    const found = await endLeaks(api, temporary);
    expect(found).toEqual(
      expect.arrayContaining([expect.stringMatching(/^container \/\w+/), `volume ${volume}`]),
    );
    expect(await isGone(`/containers/${container}/json`)).toBe(true);
    expect(await isGone(`/volumes/${volume}`)).toBe(true);
    expect(await isGone(`/containers/${otherContainer}/json`)).toBe(false);
    expect(await isGone(`/volumes/${otherVolume}`)).toBe(false);
    expect(await endLeaks(api, temporary)).toEqual([]);
  } finally {
    await api.call('DELETE', `/containers/${otherContainer}`, { query: { force: '1' } });
    await api.call('DELETE', `/volumes/${otherVolume}`);
    await rm(temporary, { recursive: true });
  }
});

const onLinuxAsRoot = process.platform === 'linux' && process.getuid?.() === 0;

(onLinuxAsRoot ? test : test.skip)('so are processes, mounts and loop devices', async () => {
  const temporary = await realpath(await mkdtemp(join(tmpdir(), 'leaks-')));
  const point = join(temporary, 'mounted here');
  await mkdir(point);
  expect(spawnSync('mount', ['-t', 'tmpfs', 'none', point]).status).toBe(0);
  const image = join(temporary, 'image');
  await writeFile(image, Buffer.alloc(1024 ** 2));
  const device = spawnSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).stdout.trim();
  const child = spawn('sleep', ['600'], { argv0: join(temporary, 'sleep'), stdio: 'ignore' });
  await once(child, 'spawn');
  const exit = once(child, 'exit');
  const found = await endLeaks(undefined, temporary);
  expect(found).toEqual([
    `process ${child.pid ?? ''}: ${join(temporary, 'sleep')} 600`,
    `mount ${point}`,
    `loop device ${device} of ${image}`,
  ]);
  expect((await exit)[1]).toBe('SIGKILL');
  expect(await endLeaks(undefined, temporary)).toEqual([]);
  await rm(temporary, { recursive: true });
});
