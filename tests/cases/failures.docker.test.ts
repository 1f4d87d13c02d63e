import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import Sqlite from 'better-sqlite3';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openConnection } from '../access/raw-connection.js';
import { fillDisk, makeSmallDisk, type SmallDisk } from '../disk/small-disk.js';
import { containersOf } from '../exec/engine-view.js';
import { fileAppears } from '../exec/file-appears.js';
import { startRunningService } from '../exec/running-service.js';
import { startServer } from '../lifecycle/server-process.js';

let dataDir: string;
let workspace: string;
let disk: SmallDisk | undefined;
let server: Awaited<ReturnType<typeof startServer>>;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-failures-'));
  workspace = join(dataDir, 'workspace');
  disk = undefined;
});
afterEach(async () => {
  await server.end('SIGKILL');
  await (await startRunningService({}, dataDir)).close();
  for (const folder of [dataDir, workspace]) await rm(folder, { recursive: true, force: true });
  await disk?.remove();
});

const start = async (graceMs: number) => {
  server = await startServer({ SECBOX_DATA_DIR: dataDir, SECBOX_SHUTDOWN_GRACE_MS: String(graceMs) });
};
const inWork = (name: string) => join(workspace, 'projects/p/work', name);
const inSpool = (execId: string) => join(workspace, 'spool', execId);
const bodyOf = (script: string) =>
  JSON.stringify({ project_id: 'p', exec: { kind: 'shell', command: 'bash', args: ['-lc', script] } });
const post = (script: string, query = '') =>
  fetch(`${server.url}/sandbox/execs${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bodyOf(script),
  });
const answerOf = async (response: Response | Promise<Response>) =>
  (await (await response).json()) as ExecAnswer;
const rowOf = (url: string, execId: string) => answerOf(fetch(`${url}/sandbox/execs/${execId}`));

/** Goes on until it is told to end. */
const script =
  'touch begun; while [ ! -e go ]; do sleep 0.05; done; echo ended; echo x > /workspace/artifacts/x';
const tellToEnd = () => writeFile(inWork('go'), '');

/** With the database on a disk of its own, which {@link fillDisk} fills; gives the file to fill it with. */
async function startOnSmallDisk(): Promise<string> {
  workspace = dataDir;
  disk = await makeSmallDisk(16 * 1024 ** 2);
  dataDir = join(disk.path, 'data');
  await start(0);
  await fetch(`${server.url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': '"0"' },
    body: JSON.stringify({ sandbox: { workspace_root: workspace, min_free_mb: 1 } }),
  });
  await server.end('SIGTERM');
  await start(0);
  return join(disk.path, 'filler');
}

/** As another program may hold it. */
function lockDatabase(): Sqlite.Database {
  const lock = new Sqlite(join(dataDir, 'secbox.db'));
  lock.exec('BEGIN IMMEDIATE');
  return lock;
}

test('case 65: before the start, a locked database lets nothing run, and says so', async () => {
  await start(0);
  await answerOf(post('true'));
  const lock = lockDatabase();
  const refused = await post('touch ran');
  lock.close();
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { error: { code: 'database_unavailable' } },
  ]);
  expect(await answerOf(post('ls'))).toMatchObject({ status: 'succeeded', stdout: '' });
});

test('case 65: after the start, the end is spooled, and written once the database takes it', async () => {
  await start(0);
  const answer = answerOf(post(script));
  await fileAppears(inWork('begun'));
  const [execId = ''] = await readdir(join(dataDir, 'workspace/spool'));
  const lock = lockDatabase();
  await tellToEnd();
  await fileAppears(join(inSpool(execId), 'end.json'));
  expect(await rowOf(server.url, execId)).toMatchObject({ status: 'running', ended_at: null });
  lock.close();
  expect(await answer).toMatchObject({ status: 'succeeded', stdout: 'ended\n', artifacts: [{ path: 'x' }] });
  expect(await rowOf(server.url, execId)).toEqual(await answer);
  while ((await readdir(join(dataDir, 'workspace/spool'))).length > 0);
});

test('case 65: after the start, a spooled end outlives a server that is killed', async () => {
  await start(0);
  const { exec_id: execId } = await answerOf(post(script, '?wait=false'));
  await fileAppears(inWork('begun'));
  const lock = lockDatabase();
  await tellToEnd();
  await fileAppears(join(inSpool(execId), 'end.json'));
  await server.end('SIGKILL');
  lock.close();
  const next = await startRunningService({}, dataDir);
  const row = await rowOf(next.url, execId);
  await next.stop();
  expect(row).toMatchObject({
    status: 'succeeded',
    exit_code: 0,
    stdout: 'ended\n',
    artifacts: [{ path: 'x' }],
  });
});

test('case 65: before the start, a full database lets nothing run, and says so', async () => {
  const filler = await startOnSmallDisk();
  await answerOf(post('true'));
  await fillDisk(filler);
  const refused = await post('touch ran');
  expect([refused.status, await refused.json()]).toMatchObject([503, { error: { code: 'disk_full' } }]);
  await rm(filler);
  expect(await answerOf(post('ls'))).toMatchObject({ status: 'succeeded', stdout: '' });
});

test('case 65: after the start, a full database gets the end once it has room, with all that was left', async () => {
  const filler = await startOnSmallDisk();
  const answer = answerOf(post('echo so far; echo x > /workspace/artifacts/x; touch begun; sleep 250'));
  await fileAppears(inWork('begun'));
  const [execId = ''] = await readdir(join(workspace, 'spool'));
  // It is ended for it, and that cannot be recorded.
  await fillDisk(filler);
  await fileAppears(join(inSpool(execId), 'end.json'));
  expect(await rowOf(server.url, execId)).toMatchObject({ status: 'running', ended_at: null });
  await rm(filler);
  expect(await answer).toMatchObject({
    status: 'failed',
    error_reason: expect.stringMatching(/free, less than/) as unknown,
    stdout: 'so far\n',
    artifacts: [{ path: 'x' }],
  });
  expect(await rowOf(server.url, execId)).toEqual(await answer);
});

test('case 69: what ends within the grace is answered, new work is refused, and the server exits 0', async () => {
  await start(60_000);
  const answer = answerOf(post(script));
  await fileAppears(inWork('begun'));
  // Connections that are open are served to the end of their request; new ones are not taken.
  const late = await openConnection(server.url);
  const body = bodyOf('touch late');
  late.socket.write(
    `POST /sandbox/execs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`,
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  const exit = server.end('SIGTERM');
  while (
    await fetch(`${server.url}/healthz`, { headers: { connection: 'close' } }).then(
      () => true,
      () => false,
    )
  );
  late.socket.write(body);
  const refused = await late.until(/shutting_down/);
  expect(refused).toMatch(/^HTTP\/1\.1 503 /);
  late.end();

  await tellToEnd();
  expect(await answer).toMatchObject({ status: 'succeeded', exit_code: 0, stdout: 'ended\n' });
  expect(await exit).toEqual({ code: 0, signal: null });
  expect(await containersOf(dataDir)).toEqual([]);
  expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
});

test('case 69: what does not end within the grace is ended, with a reason, and the server exits 0', async () => {
  await start(200);
  const answer = answerOf(post('echo begun; touch begun; sleep 250'));
  await fileAppears(inWork('begun'));
  expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(await answer).toMatchObject({
    status: 'error',
    error_reason: 'interrupted: the server was stopped',
    stdout: 'begun\n',
  });
  expect(await containersOf(dataDir)).toEqual([]);
  const next = await startRunningService({}, dataDir);
  const row = await rowOf(next.url, (await answer).exec_id);
  await next.stop();
  expect(row).toEqual(await answer);
});
