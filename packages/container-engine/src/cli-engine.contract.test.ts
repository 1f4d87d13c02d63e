import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CliFixture,
  cliOf,
  dockerHost,
  engineOf,
  imageReference,
  seccompProfilePath,
} from './cli-fixture.contract.js';
import { DockerProgram } from './cli-process.js';
import { describeContainerEngine } from './container-engine.contract.js';
import type { ContainerSpec, EngineInfo } from './container-engine.js';
import { describePrestart } from './container-prestart.contract.js';
import { DockerodeEngine } from './dockerode-engine.js';
import { parseDockerHost } from './endpoint.js';

const suite = { dockerHost, imageReference, makeEngine: (host: string) => engineOf(cliOf(host)) };

describeContainerEngine('Docker CLI', suite);
describePrestart('Docker CLI', suite);

let fixture: CliFixture;
beforeEach(async () => {
  fixture = await CliFixture.open();
});
afterEach(() => fixture.close());

describe('the Docker CLI and dockerode', () => {
  const openDockerode = async () =>
    new DockerodeEngine(parseDockerHost(dockerHost), {
      seccompProfile: await readFile(seccompProfilePath, 'utf8'),
    });

  test.each<[string, Partial<ContainerSpec>]>([
    ['as usual', {}],
    ['with a writable root', { readOnlyRoot: false }],
    ['with variables', { environment: { A: 'x=y', B: '', HTTP_PROXY: 'http://p', PATH: '/bin' } }],
    ['with odd limits', { cpus: 1 / 3, memoryBytes: 64 * 1024 ** 2 + 1, pids: 7 }],
  ])('create the same container in the eyes of the engine: %s', async (_how, changes) => {
    const spec = await fixture.specOf(['python3', '-c', 'pass', '--help'], changes);
    const ours = await inspect(await fixture.engine.create(spec));
    const theirs = await inspect(await (await openDockerode()).create(spec));
    expect(ours).toEqual(theirs);
    expect(Object.keys(ours.HostConfig).length).toBeGreaterThan(15);
    expect(ours.Mounts).toHaveLength(3);
  });

  test('tell the same of an engine and of an image', async () => {
    const dockerode = await openDockerode();
    const sorted = (info: EngineInfo) => ({
      ...info,
      runtimes: info.runtimes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    });
    expect(sorted(await fixture.engine.info())).toEqual(sorted(await dockerode.info()));
    expect(await fixture.engine.findImage(imageReference)).toEqual(await dockerode.findImage(imageReference));
  });
});

describe('the Docker CLI', () => {
  test('mounts folders with commas, quotes and spaces in their names', async () => {
    const root = join(fixture.dataDir, `a,b=c "quoted",target=/etc 'x'`, '-dash ');
    await mkdir(root, { recursive: true });
    await chmod(fixture.dataDir, 0o711);
    const owner = { purpose: 'exec', execId: newExecId(), dataDir: fixture.dataDir } as const;
    const spec = await fixture.specOf(['sh', '-c', 'echo made > /workspace/artifacts/file'], { root, owner });
    expect(await fixture.run(spec)).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await readFile(join(spec.mounts.artifacts, 'file'), 'utf8')).toBe('made\n');
  });

  test('tells data folders apart by every character of their names', async () => {
    const folders = [' ', ',x', '=x', '"', '\n', ''].map((end) => `${fixture.dataDir}${end}`);
    const ids: string[] = [];
    try {
      for (const dataDir of folders) {
        const spec = await fixture.specOf(['true'], {
          owner: { purpose: 'exec', execId: newExecId(), dataDir },
        });
        ids.push(await fixture.engine.create(spec));
      }
      for (const [n, dataDir] of folders.entries()) {
        expect(await fixture.engine.listOwned(dataDir)).toMatchObject([{ id: ids[n] }]);
      }
    } finally {
      for (const id of ids) await fixture.engine.remove(id);
    }
  });

  test.each(['--help', '-h', '--format=x', 'Not A Name'])(
    'takes nothing that it is given for an option: %j',
    async (word) => {
      const { engine } = fixture;
      await expect(engine.findImage(word)).rejects.toThrow(/invalid reference/);
      const spec = await fixture.specOf(['true'], { imageId: word });
      await expect(engine.create(spec)).rejects.toThrow(/invalid reference/);
      for (const call of ['attach', 'start', 'wait'] as const) {
        await expect(engine[call](word)).rejects.toThrow(/no such container|invalid/i);
      }
    },
  );

  test('a variable that would steer the docker program steers only the container', async () => {
    const environment = {
      DOCKER_HOST: 'tcp://127.0.0.1:1',
      LD_PRELOAD: '/nowhere.so',
      PATH: '/usr/bin:/bin:/nowhere',
      HTTP_PROXY: 'http://127.0.0.1:1',
      NOT_A_COMMENT: '#x',
      SPACES: ' a  b ',
      KEY: '-----BEGIN-----\r\nabc\n-----END-----\n',
      LONG: 'x'.repeat(100_000),
      'odd name': 'y',
      '#odd': 'z',
    };
    const program = 'import json, os; print(json.dumps(dict(os.environ)))';
    const { stdout } = await fixture.run(await fixture.specOf(['python3', '-c', program], { environment }));
    expect(JSON.parse(stdout)).toMatchObject(environment);
  });

  test("keeps the operator's own configuration, with its proxies, out of containers", async () => {
    const configuration = join(fixture.dataDir, '.docker');
    await mkdir(configuration);
    const proxies = { default: { httpProxy: 'http://user:secret@proxy:1', noProxy: 'x' } };
    await writeFile(join(configuration, 'config.json'), JSON.stringify({ proxies }));
    const more = { HOME: fixture.dataDir, DOCKER_CONFIG: configuration };
    const spec = await fixture.specOf(['sh', '-c', 'env; echo over']);
    const { stdout } = await fixture.run(spec, engineOf(cliOf(dockerHost, more)));
    expect(stdout).toMatch(/over/);
    expect(stdout).not.toMatch(/proxy/i);
  });
});

interface Inspected {
  readonly Path: string;
  readonly Args: readonly string[];
  readonly Image: string;
  readonly Config: Readonly<Record<string, unknown>> & { readonly Env: readonly string[] };
  readonly HostConfig: Readonly<Record<string, unknown>> & { readonly SecurityOpt: readonly string[] };
  readonly Mounts: readonly { readonly Destination: string }[];
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, unknown>> };
}

/** The engine's account without what is a container's own, and with unset, empty and null as one. */
async function inspect(id: string) {
  const answer = await new DockerProgram(fixture.cli).answer([
    'container',
    'inspect',
    '--format={{json .}}',
    id,
  ]);
  const { Path, Args, Image, Config, HostConfig, Mounts, NetworkSettings } = JSON.parse(answer) as Inspected;
  const set = (fields: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => name !== 'Hostname' && !isUnset(value)),
    );
  return {
    Path,
    Args,
    Image,
    Config: { ...set(Config), Env: Config.Env.toSorted() },
    HostConfig: { ...set(HostConfig), SecurityOpt: HostConfig.SecurityOpt.map(parseSeccomp) },
    Mounts: Mounts.toSorted((a, b) => (a.Destination < b.Destination ? -1 : 1)),
    Networks: Object.keys(NetworkSettings.Networks),
  };
}

/** The program leaves out the spaces of the profile that it reads. */
function parseSeccomp(option: string): unknown {
  const [, profile] = /^seccomp=(.*)$/s.exec(option) ?? [];
  return profile === undefined ? option : { seccomp: JSON.parse(profile) as unknown };
}

function isUnset(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return !value;
}
