import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { engineAdvice } from '../../docker/setup/engine.mjs';
import { checkNode } from '../../docker/setup/prepare.mjs';

const setup = new URL('../../docker/setup/', import.meta.url);
const at = { folder: '' };

beforeAll(async () => {
  at.folder = await mkdtemp(join(tmpdir(), 'start-'));
});
afterAll(() => rm(at.folder, { recursive: true }));

interface Ending {
  readonly code: number | null;
  readonly output: string;
}

async function node(args: readonly string[], more: NodeJS.ProcessEnv): Promise<Ending> {
  const env = {
    PATH: process.env['PATH'],
    HOME: at.folder,
    SECBOX_DATA_DIR: join(at.folder, 'data'),
    TMPDIR: at.folder,
    ...more,
  };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const parts: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => parts.push(part));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: Buffer.concat(parts).toString('utf8') };
}

const start = (env: NodeJS.ProcessEnv, ...words: string[]) =>
  node([fileURLToPath(new URL('start.mjs', setup)), ...words], env);

const noStackTrace = (output: string) => expect(output).not.toMatch(/^\s+at .*[:(]/m);

/** The engine as npm start gets it, on a machine where nothing listens on the default socket. */
const openWithoutEngine = (env: NodeJS.ProcessEnv) =>
  node(
    [
      '--input-type=module',
      '-e',
      `import { runCommand } from '${new URL('failure.mjs', setup).href}';
       import { openEngine } from '${new URL('engine.mjs', setup).href}';
       await runCommand(async (signal) => {
         await openEngine({ env: process.env, dataDir: process.env.SECBOX_DATA_DIR, signal,
           say: () => undefined, defaultHosts: ['unix://' + process.env.HOME + '/nobody.sock'] });
       });`,
    ],
    env,
  );

describe('npm start', () => {
  test('--help says what it reads', async () => {
    const { code, output } = await start({}, '--help');
    expect(code).toBe(0);
    expect(output).toContain('SECBOX_ENGINE');
  });

  test('SECBOX_ENGINE=external without an engine: what to install, exit code 1, no stack trace', async () => {
    const { code, output } = await openWithoutEngine({ SECBOX_ENGINE: 'external' });
    expect(code).toBe(1);
    expect(output).toContain('SECBOX_ENGINE=external forbids installing or starting one');
    expect(output).toContain(engineAdvice(process.platform));
    noStackTrace(output);
  });

  test('an external engine that does not answer: where it was looked for, exit code 1', async () => {
    const host = `unix://${at.folder}/nobody.sock`;
    const { code, output } = await start({ SECBOX_ENGINE: 'external', DOCKER_HOST: host });
    expect(code).toBe(1);
    expect(output).toContain(`DOCKER_HOST is ${host}, but no Docker engine answers there`);
    expect(output).toContain('unset it');
    noStackTrace(output);
  });

  test('a context that does not exist, exit code 1', async () => {
    const { code, output } = await start({ DOCKER_CONTEXT: 'gone' });
    expect(code).toBe(1);
    expect(output).toContain('The docker context "gone" does not exist');
    noStackTrace(output);
  });

  test('a value of SECBOX_ENGINE that means nothing', async () => {
    const { code, output } = await start({ SECBOX_ENGINE: 'maybe', DOCKER_HOST: 'unix:///nowhere.sock' });
    expect(code).toBe(1);
    expect(output).toContain('SECBOX_ENGINE is "maybe"');
    noStackTrace(output);
  });

  test('prints no escape codes where there is no terminal', async () => {
    const { output } = await start({ DOCKER_HOST: 'unix:///nowhere.sock' });
    expect(output).not.toContain('\u001b');
  });
});

describe('what it asks for', () => {
  test.each(['v18.20.0', 'v16.0.0', 'v9.1.0'])('Node %s is too old', (version) => {
    expect(() => checkNode(version)).toThrow(`needs Node 20 or newer; this is ${version}`);
  });

  test.each(['v20.0.0', 'v22.1.0', 'v100.0.0'])('Node %s will do', (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });

  test('names the right thing for each platform', () => {
    expect(engineAdvice('linux')).toContain('apt-get install docker.io');
    expect(engineAdvice('darwin')).toContain('Docker Desktop for Mac');
    expect(engineAdvice('win32')).toContain('WSL 2');
  });
});
