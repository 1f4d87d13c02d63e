import { afterAll, beforeAll, expect, test } from '@jest/globals';
import Sqlite from 'better-sqlite3';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pooled, poolHas } from '../pool/pooled.js';
import { containersOf } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
let lock: Sqlite.Database;
beforeAll(async () => {
  service = await startRunningService(pooled(1));
  lock = new Sqlite(join(service.dataDir, 'secbox.db'));
});
afterAll(async () => {
  lock.close();
  await service.close();
});

const submit = (body: object) =>
  fetch(`${service.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ project_id: 'p', ...body }),
  });
const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'echo ran >> ran; cat ran'] };
const inputs = [{ path: 'a.txt', content: 'a' }];
const entriesOf = (folder: string) => readdir(join(service.dataDir, 'workspace', folder));

test.each([
  ['that would start at once', { exec }],
  ['that brings inputs', { exec, inputs }],
])('an exec %s does not run without its row, and leaves nothing', async (_, body) => {
  expect((await service.shell('true')).status).toBe('succeeded');
  await poolHas(service.url, 1);
  const before = await entriesOf('projects/p/artifacts');
  lock.exec('BEGIN IMMEDIATE');
  const response = await submit(body);
  lock.exec('ROLLBACK');
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: 'database_unavailable' } });
  while ((await entriesOf('spool')).length > 0);
  expect(await entriesOf('projects/p/artifacts')).toEqual(before);
  expect(await entriesOf('projects/p/work')).not.toContain('ran');
  // Of the container that it took, too.
  await poolHas(service.url, 1);
  while ((await containersOf(service.dataDir)).length > 1);
});

test('and is taken on once the database answers', async () => {
  const response = await submit({ exec });
  expect(await response.json()).toMatchObject({ status: 'succeeded', stdout: 'ran\n', start_mode: 'warm' });
});
