import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { containersOf } from '../exec/engine-view.js';
import { fileAppears } from '../exec/file-appears.js';
import { runCurl } from '../run-curl.js';
import { startProcess, type ProcessEnd, type ServerProcess } from './server-process.js';

let dataDir: string;
let server: ServerProcess | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-start-'));
  server = undefined;
});
afterEach(async () => {
  if (server?.child.exitCode === null) await server.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

const direct = [process.execPath, 'docker/setup/start.mjs'];

const longExec = {
  project_id: 'p',
  exec: { kind: 'shell', command: 'bash', args: ['-lc', 'echo begun; touch begun; sleep 250'] },
};

async function post(url: string, body: unknown): Promise<Response> {
  const key = (await readFile(join(dataDir, 'dev.key'), 'utf8')).trim();
  return fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  });
}

describe('npm start', () => {
  const clean: ProcessEnd = { code: 0, signal: null };
  test.each<[string, string, string[], (started: ServerProcess) => Promise<ProcessEnd>, ProcessEnd]>([
    // npm and its shell die of the signal they got, after all they started has ended.
    [
      'npm start',
      'Ctrl-C',
      ['npm', 'start'],
      (started) => started.interrupt(),
      { code: null, signal: 'SIGINT' },
    ],
    [
      'npm start',
      'SIGTERM',
      ['npm', 'start'],
      (started) => started.end('SIGTERM'),
      { code: null, signal: 'SIGTERM' },
    ],
    ['node', 'Ctrl-C', direct, (started) => started.interrupt(), clean],
    ['node', 'SIGTERM', direct, (started) => started.end('SIGTERM'), clean],
  ])(
    '%s serves, prints a line that runs a first exec when pasted, and stops cleanly on %s',
    async (_name, _signal, [command = '', ...args], stop, end) => {
      server = startProcess(command, args, { SECBOX_DATA_DIR: dataDir, SECBOX_SHUTDOWN_GRACE_MS: '0' });
      const [, url = ''] = await server.waitFor(/Secbox serves on (http:\S+)/);
      const [curl] = await server.waitFor(/curl -s .*'/);
      expect(await runCurl(curl)).toMatchObject({ status: 'succeeded', stdout: '42\n' });
      expect((await stat(join(dataDir, 'dev.key'))).mode & 0o777).toBe(0o600);
      expect((await fetch(`${url}/sandbox/execs`)).status).toBe(401);

      const interrupted = post(url, longExec).then(
        async (response) => ({
          status: response.status,
          body: (await response.json()) as Partial<ExecAnswer>,
        }),
        // The server may be gone before the answer is through; the row is what counts.
        () => undefined,
      );
      await fileAppears(join(dataDir, 'workspace/projects/p/work/begun'));
      expect([end, clean]).toContainEqual(await stop(server));
      expect(await containersOf(dataDir)).toEqual([]);
      const answer = await interrupted;
      expect(answer?.body).toMatchObject({
        status: 'error',
        stdout: 'begun\n',
        error_reason: 'interrupted: the server was stopped',
      });
    },
  );

  test('a port that is taken, or a data folder that is in use, is told in one line', async () => {
    server = startProcess('npm', ['start'], { SECBOX_DATA_DIR: dataDir });
    const [, url = ''] = await server.waitFor(/Secbox serves on (http:\S+)/);

    const sameFolder = startProcess('npm', ['start'], { SECBOX_DATA_DIR: dataDir });
    await sameFolder.waitFor(/secbox: Another Secbox server uses this data folder/);
    expect((await sameFolder.ended).code).toBe(1);

    const other = await mkdtemp(join(tmpdir(), 'secbox-other-'));
    const samePort = startProcess('npm', ['start'], { SECBOX_DATA_DIR: other, PORT: new URL(url).port });
    await samePort.waitFor(/secbox: .*EADDRINUSE/);
    expect((await samePort.ended).code).toBe(1);
    expect(samePort.printed()).not.toMatch(/^\s+at /m);
    await rm(other, { recursive: true, force: true });
  });
});
