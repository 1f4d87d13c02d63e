import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { contentTag, readContext } from '../../docker/setup/build-context.mjs';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { obtainImage } from '../../docker/setup/image.mjs';
import { pullImage } from '../../docker/setup/pull-image.mjs';
import { FakeEngine, json } from './fake-engine.js';

interface Scene {
  readonly engine: FakeEngine;
  readonly api: EngineApi;
  readonly folder: string;
}
const scene: { now?: Scene } = {};
const quiet = { signal: new AbortController().signal, say: () => undefined };

beforeEach(async () => {
  const engine = await FakeEngine.start();
  const folder = await mkdtemp(join(tmpdir(), 'image-'));
  await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\n');
  await writeFile(join(folder, 'packages.txt'), 'bash command -v bash\n');
  engine.on('GET /images/json', json([])).on('GET /networks', json([{ Name: 'bridge' }]));
  scene.now = { engine, api: new EngineApi({ host: engine.host }), folder };
});
afterEach(async () => {
  await scene.now?.engine.stop();
  await rm(scene.now?.folder ?? '', { recursive: true });
});

function here(): Scene {
  if (scene.now === undefined) throw new Error('beforeEach did not run');
  return scene.now;
}

/** Everything an engine needs to answer for a build to succeed, for this base. */
function buildable(base: string): string {
  const { engine, folder } = here();
  const tag = `secbox/sandbox:${contentTag(readContext(folder), base)}`;
  engine.on('POST /build', json({ stream: 'Step 1/1 : FROM x' }));
  engine.on(`POST /images/${tag}/tag`, (response) => response.writeHead(201).end());
  return tag;
}

const obtain = (rebuild = false) => {
  const { api, folder } = here();
  return obtainImage(api, { ...quiet, env: {}, folder, rebuild });
};

describe('the sandbox image', () => {
  test.each(['python:3.12-slim', 'debian:bookworm'])(
    'made on %s is found again: the alias is set, nothing pulled or built',
    async (base) => {
      const { engine } = here();
      const tag = buildable(base);
      engine.on(`GET /images/${tag}/json`, json({}));
      expect(await obtain()).toEqual({ tag, built: false });
      expect(engine.asked(`POST /images/${tag}/tag`)).toHaveLength(1);
      expect(engine.asked('POST /images/create')).toEqual([]);
      expect(engine.asked('POST /build')).toEqual([]);
    },
  );

  test('is built on the pulled base, and named only after that', async () => {
    const { engine } = here();
    engine.on('POST /images/create', json({ status: 'Pull complete' }));
    const tag = buildable('python:3.12-slim');
    expect(await obtain()).toEqual({ tag, built: true });
    const [build] = engine.asked('POST /build');
    expect(build?.query.get('t')).toBe(tag);
    expect(build?.query.get('buildargs')).toBe('{"BASE":"python:3.12-slim"}');
    expect(build?.query.get('labels')).toBe('{"secbox":"image"}');
    expect(build?.query.has('networkmode')).toBe(false);
    expect(build?.body.subarray(0, 10).toString()).toBe('Dockerfile');
    const [alias] = engine.asked(`POST /images/${tag}/tag`);
    expect(alias?.query.toString()).toBe('repo=secbox%2Fsandbox&tag=latest');
    expect(engine.requests.indexOf(alias as never)).toBeGreaterThan(engine.requests.indexOf(build as never));
  });

  test('is built again when asked for, though it is there', async () => {
    const { engine } = here();
    engine.on('POST /images/create', json({ status: 'Pull complete' }));
    const tag = buildable('python:3.12-slim');
    engine.on(`GET /images/${tag}/json`, json({}));
    expect(await obtain(true)).toEqual({ tag, built: true });
    expect(engine.asked('POST /build')[0]?.query.get('nocache')).toBe('1');
  });

  test('is built on the host network where the engine has no bridge', async () => {
    const { engine } = here();
    engine
      .on('POST /images/create', json({}))
      .on('GET /networks', json([{ Name: 'none' }, { Name: 'host' }]));
    buildable('python:3.12-slim');
    await obtain();
    expect(engine.asked('POST /build')[0]?.query.get('networkmode')).toBe('host');
  });

  test('a base that is there serves where no registry answers', async () => {
    const { engine } = here();
    engine.on('POST /images/create', (response) => response.writeHead(500).end('{"message":"no such host"}'));
    engine.on('GET /images/python:3.12-slim/json', json({}));
    const tag = buildable('python:3.12-slim');
    expect(await obtain()).toEqual({ tag, built: true });
  });

  test('a build that fails shows its output and sets no name', async () => {
    const { engine } = here();
    engine.on('POST /images/create', json({}));
    const tag = buildable('python:3.12-slim');
    engine.on('POST /build', (response) => {
      response.write('{"stream":"E: Unable to locate package jq"}\n');
      response.end('{"error":"The command returned a non-zero code: 100"}\n');
    });
    await expect(obtain()).rejects.toMatchObject({
      message: 'The sandbox image could not be built.',
      details: 'E: Unable to locate package jq\nThe command returned a non-zero code: 100',
    });
    expect(engine.asked(`POST /images/${tag}/tag`)).toEqual([]);
  });

  test('outdated ones are removed: only ours, only old nameless ones', async () => {
    const { engine } = here();
    engine.on('POST /images/create', json({}));
    const tag = buildable('python:3.12-slim');
    const now = Math.floor(Date.now() / 1000);
    const image = (Id: string, RepoTags: string[] | null, Created = now) => ({ Id, RepoTags, Created });
    engine.on(
      'GET /images/json',
      json([
        image('sha256:current', [tag, 'secbox/sandbox:latest']),
        image('sha256:old', ['secbox/sandbox:0123456789ab', 'someone/copy:1']),
        image('sha256:nameless', ['<none>:<none>'], now - 3600),
        image('sha256:building', null),
      ]),
    );
    await obtain();
    const removed = engine.requests.filter(({ method }) => method === 'DELETE').map(({ path }) => path);
    expect(removed).toEqual(['/images/secbox/sandbox:0123456789ab', '/images/sha256:nameless']);
    expect(engine.asked('GET /images/json')[0]?.query.get('filters')).toBe('{"label":["secbox=image"]}');
  });
});

describe('a pull', () => {
  test('is given up when the registry stays silent', async () => {
    const { engine, api } = here();
    engine.on('POST /images/create', (response) => response.writeHead(200).flushHeaders());
    const pulled = await pullImage(api, 'python:3.12-slim', { ...quiet, noProgressMs: 50 });
    expect(pulled).toEqual({ ok: false, reason: 'no progress within 0.05 s' });
  });

  test('is given up when the engine does nothing but try again', async () => {
    const { engine, api } = here();
    engine.on('POST /images/create', (response) => {
      const timer = setInterval(() => response.write('{"id":"a","status":"Retrying in 1 second"}\n'), 5);
      response.on('close', () => clearInterval(timer));
    });
    const pulled = await pullImage(api, 'python:3.12-slim', { ...quiet, noProgressMs: 50 });
    expect(pulled.ok).toBe(false);
  });

  test('goes on as long as bytes come, and says how many', async () => {
    const { engine, api } = here();
    engine.on('POST /images/create', (response) => {
      for (const [id, current] of [
        ['a', 1e6],
        ['b', 2e6],
        ['a', 4e6],
      ] as const) {
        const progressDetail = { current, total: 4e6 };
        response.write(`${JSON.stringify({ id, status: 'Downloading', progressDetail })}\n`);
      }
      response.end('{"status":"Downloaded"}\n');
    });
    const said: string[] = [];
    const pulled = await pullImage(api, 'python:3.12-slim', { ...quiet, say: (doing) => said.push(doing) });
    expect(pulled).toEqual({ ok: true });
    expect(said.at(-1)).toBe('pulling python:3.12-slim: 6.0 MB of 8.0 MB');
    expect(engine.asked('POST /images/create')[0]?.query.toString()).toBe('fromImage=python&tag=3.12-slim');
  });

  test('stops when it is called off', async () => {
    const { engine, api } = here();
    const stop = new AbortController();
    engine.on('POST /images/create', () => stop.abort(new Error('called off')));
    const pull = pullImage(api, 'python:3.12-slim', { ...quiet, signal: stop.signal });
    await expect(pull).rejects.toThrow('called off');
  });
});
