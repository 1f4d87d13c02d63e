import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { candidateEndpoints, findEngine } from '../../docker/setup/find-engine.mjs';
import { FakeEngine } from './fake-engine.js';

const linux = { home: '/home/someone', platform: 'linux' } as const;

interface Context {
  readonly name: string;
  readonly meta: unknown;
  readonly tls?: boolean;
}

async function withConfig<T>(
  config: { current?: string; contexts?: readonly Context[]; text?: string },
  work: (folder: string) => T | Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'config-'));
  try {
    const text =
      config.text ?? JSON.stringify(config.current === undefined ? {} : { currentContext: config.current });
    await writeFile(join(folder, 'config.json'), text);
    for (const { name, meta, tls } of config.contexts ?? []) {
      const id = createHash('sha256').update(name).digest('hex');
      await mkdir(join(folder, 'contexts', 'meta', id), { recursive: true });
      await writeFile(join(folder, 'contexts', 'meta', id, 'meta.json'), JSON.stringify(meta));
      if (tls === true) await mkdir(join(folder, 'contexts', 'tls', id, 'docker'), { recursive: true });
    }
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const remote = (host: unknown, more = {}): Context['meta'] => ({
  Name: 'remote',
  Endpoints: { docker: { Host: host, ...more } },
});

describe('where an engine is looked for', () => {
  test('DOCKER_HOST goes before everything', async () => {
    await withConfig(
      { current: 'remote', contexts: [{ name: 'remote', meta: remote('tcp://b:1') }] },
      (folder) => {
        const env = { DOCKER_HOST: 'tcp://a:2375', DOCKER_CONTEXT: 'remote', DOCKER_CONFIG: folder };
        expect(candidateEndpoints({ ...linux, env })).toEqual([
          { host: 'tcp://a:2375', source: 'DOCKER_HOST' },
        ]);
      },
    );
  });

  test.each([
    [
      { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: '/certs' },
      { certPath: '/certs', verify: true },
    ],
    [{ DOCKER_CERT_PATH: '/certs' }, { certPath: '/certs', verify: false }],
    [{ DOCKER_TLS_VERIFY: '1' }, { certPath: '/home/someone/.docker', verify: true }],
    [{}, undefined],
  ])('DOCKER_HOST with %o', (more, tls) => {
    const [candidate] = candidateEndpoints({ ...linux, env: { DOCKER_HOST: 'tcp://a:2376', ...more } });
    expect(candidate?.tls).toEqual(tls);
  });

  test('DOCKER_CONTEXT goes before the current context of the config file', async () => {
    const contexts = [
      { name: 'one', meta: remote('tcp://one:1') },
      { name: 'two', meta: remote('tcp://two:2') },
    ];
    await withConfig({ current: 'one', contexts }, (folder) => {
      const at = (env: NodeJS.ProcessEnv) =>
        candidateEndpoints({ ...linux, env: { DOCKER_CONFIG: folder, ...env } });
      expect(at({ DOCKER_CONTEXT: 'two' })).toEqual([
        { host: 'tcp://two:2', source: 'context', context: 'two' },
      ]);
      expect(at({})).toEqual([{ host: 'tcp://one:1', source: 'context', context: 'one' }]);
    });
  });

  test('the context default means the socket of the platform', async () => {
    await withConfig({ current: 'one' }, (folder) => {
      const env = { DOCKER_CONFIG: folder, DOCKER_CONTEXT: 'default' };
      expect(candidateEndpoints({ ...linux, env })).toEqual([
        { host: 'unix:///var/run/docker.sock', source: 'socket' },
      ]);
    });
  });

  test.each([
    [{}, true],
    [{ SkipTLSVerify: true }, false],
  ])("a context's certificates are used, with %o", async (more, verify) => {
    const contexts = [{ name: 'safe', meta: remote('tcp://safe:2376', more), tls: true }];
    await withConfig({ current: 'safe', contexts }, (folder) => {
      const [candidate] = candidateEndpoints({ ...linux, env: { DOCKER_CONFIG: folder } });
      const id = createHash('sha256').update('safe').digest('hex');
      expect(candidate?.tls).toEqual({ certPath: join(folder, 'contexts', 'tls', id, 'docker'), verify });
    });
  });

  test.each([
    ['linux', ['unix:///var/run/docker.sock']],
    ['darwin', ['unix:///var/run/docker.sock', 'unix:///home/someone/.docker/run/docker.sock']],
    ['win32', ['npipe:////./pipe/docker_engine']],
  ] as const)('the default on %s', async (platform, hosts) => {
    await withConfig({}, (folder) => {
      const found = candidateEndpoints({ home: '/home/someone', platform, env: { DOCKER_CONFIG: folder } });
      expect(found).toEqual(hosts.map((host) => ({ host, source: 'socket' })));
    });
  });

  test.each([
    ['a context that does not exist', { current: 'gone' }, /context "gone" does not exist/],
    [
      'a context without an engine',
      { current: 'odd', contexts: [{ name: 'odd', meta: { Name: 'odd' } }] },
      /context "odd" names no Docker engine/,
    ],
    ['a config file that is not JSON', { text: '{' }, /config\.json cannot be read as JSON/],
  ])('%s is told', async (_, config, message) => {
    await withConfig(config, (folder) => {
      expect(() => candidateEndpoints({ ...linux, env: { DOCKER_CONFIG: folder } })).toThrow(message);
    });
  });
});

describe('which engine is found', () => {
  test('the first that answers, of several sockets', async () => {
    const engine = await FakeEngine.start();
    try {
      const dead = `unix://${join(engine.folder, 'nobody.sock')}`;
      const found = await findEngine({
        ...linux,
        env: { DOCKER_CONFIG: engine.folder },
        defaultHosts: [dead, engine.host],
      });
      expect(found).toEqual({ host: engine.host, source: 'socket' });
    } finally {
      await engine.stop();
    }
  });

  test('none, when no default socket answers', async () => {
    const surroundings = {
      ...linux,
      env: { DOCKER_CONFIG: '/nowhere' },
      defaultHosts: ['unix:///nowhere.sock'],
    };
    expect(await findEngine(surroundings)).toBeUndefined();
  });

  test('something that is not an engine does not count', async () => {
    const engine = await FakeEngine.start();
    engine.on('GET /_ping', (response) => response.end('<html>'));
    try {
      await expect(findEngine({ ...linux, env: { DOCKER_HOST: engine.host } })).rejects.toThrow(
        /not a Docker engine/,
      );
    } finally {
      await engine.stop();
    }
  });

  test('a DOCKER_HOST that is silent is an error, though another engine is there', async () => {
    const engine = await FakeEngine.start();
    try {
      const env = {
        DOCKER_HOST: `unix://${join(engine.folder, 'nobody.sock')}`,
        DOCKER_CONFIG: engine.folder,
      };
      const search = findEngine({ ...linux, env, defaultHosts: [engine.host] });
      await expect(search).rejects.toThrow(/DOCKER_HOST is unix:.*no Docker engine answers/);
      expect(engine.requests).toEqual([]);
    } finally {
      await engine.stop();
    }
  });

  test('a context that is silent is an error', async () => {
    const contexts = [{ name: 'remote', meta: remote('unix:///nowhere.sock') }];
    await withConfig({ current: 'remote', contexts }, async (folder) => {
      await expect(findEngine({ ...linux, env: { DOCKER_CONFIG: folder } })).rejects.toThrow(
        /context "remote"/,
      );
    });
  });

  test.each([
    ['ssh://me@host', /over ssh/],
    ['docker.sock', /is not an address/],
  ])('%s is refused', async (host, message) => {
    await expect(findEngine({ ...linux, env: { DOCKER_HOST: host } })).rejects.toThrow(message);
  });
});
