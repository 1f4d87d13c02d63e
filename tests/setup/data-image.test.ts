import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { contentTag, readContext } from '../../docker/setup/build-context.mjs';
import { obtainDataImage } from '../../docker/setup/data-image.mjs';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { FakeEngine, json } from './fake-engine.js';

interface Scene {
  readonly engine: FakeEngine;
  readonly folder: string;
  readonly sandboxFolder: string;
  readonly base: string;
  readonly tag: string;
}
const scene: { now?: Scene } = {};

function here(): Scene {
  if (scene.now === undefined) throw new Error('beforeEach did not run');
  return scene.now;
}

/** An engine that has the sandbox image already. */
beforeEach(async () => {
  const engine = await FakeEngine.start();
  const [folder, sandboxFolder] = [
    await mkdtemp(join(tmpdir(), 'data-')),
    await mkdtemp(join(tmpdir(), 'sandbox-')),
  ];
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\n');
  await writeFile(join(sandboxFolder, 'Dockerfile'), 'FROM scratch\n');
  const base = `secbox/sandbox:${contentTag(readContext(sandboxFolder), 'debian:bookworm')}`;
  const tag = `secbox/data:${contentTag(readContext(folder), base)}`;
  engine
    .on('GET /images/json', json([]))
    .on('GET /networks', json([{ Name: 'bridge' }]))
    .on('POST /build', json({ stream: 'Step 1/1 : FROM x' }))
    .on(`GET /images/${base}/json`, json({}))
    .on(`POST /images/${base}/tag`, (response) => response.writeHead(201).end())
    .on(`POST /images/${tag}/tag`, (response) => response.writeHead(201).end());
  scene.now = { engine, folder, sandboxFolder, base, tag };
});
afterEach(async () => {
  const { engine, folder, sandboxFolder } = here();
  await engine.stop();
  for (const path of [folder, sandboxFolder]) await rm(path, { recursive: true });
});

const obtain = (rebuild = false) => {
  const { engine, folder, sandboxFolder } = here();
  return obtainDataImage(new EngineApi({ host: engine.host }), {
    env: {},
    signal: new AbortController().signal,
    say: () => undefined,
    folder,
    sandboxFolder,
    rebuild,
  });
};

describe('the data image', () => {
  test('is built on the sandbox image, which is not built again', async () => {
    const { engine, base, tag } = here();
    expect(await obtain()).toEqual({ tag, built: true });
    const builds = engine.asked('POST /build');
    expect(builds.map(({ query }) => [query.get('t'), query.get('buildargs')])).toEqual([
      [tag, JSON.stringify({ BASE: base })],
    ]);
    const [alias] = engine.asked(`POST /images/${tag}/tag`);
    expect(alias?.query.toString()).toBe('repo=secbox%2Fdata&tag=latest');
  });

  test('is found again, and built again when asked for', async () => {
    const { engine, tag } = here();
    engine.on(`GET /images/${tag}/json`, json({}));
    expect(await obtain()).toEqual({ tag, built: false });
    expect(engine.asked('POST /build')).toEqual([]);
    expect(await obtain(true)).toEqual({ tag, built: true });
    expect(engine.asked('POST /build')).toHaveLength(1);
  });

  test('an older one of ours is removed, and no sandbox image', async () => {
    const { engine, base } = here();
    const image = (Id: string, name: string) => ({ Id, RepoTags: [name], Created: Date.now() / 1000 });
    engine.on('GET /images/json', json([image('a', 'secbox/data:0123456789ab'), image('b', base)]));
    await obtain();
    const removed = engine.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
    expect(removed).toEqual(['/images/secbox/data:0123456789ab']);
  });
});
