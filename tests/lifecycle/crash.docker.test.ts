import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { containersOf, runningContainer } from '../exec/engine-view.js';
import { startRunningService } from '../exec/running-service.js';
import { startServer } from './server-process.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-crash-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

test('kill -9 mid-exec: the next start removes the container and ends the row with a reason (case 63)', async () => {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir });
  const body = {
    project_id: 'p',
    exec: { kind: 'shell', command: 'bash', args: ['-lc', 'sleep 250'] },
  };
  const lost = fetch(`${server.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  const container = await runningContainer(dataDir);
  const execId = container.Labels['secbox.exec_id'] ?? '';
  expect(await server.end('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  await lost;

  const next = await startRunningService({}, dataDir);
  try {
    expect(await containersOf(dataDir)).toEqual([]);
    const row: unknown = await (await fetch(`${next.url}/sandbox/execs/${execId}`)).json();
    expect(row).toMatchObject({
      status: 'error',
      error_reason: 'interrupted: the server ended while this exec was under way',
      exit_code: null,
    });
    expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
    expect((await next.shell('echo on')).stdout).toBe('on\n');
  } finally {
    await next.stop();
  }
});
