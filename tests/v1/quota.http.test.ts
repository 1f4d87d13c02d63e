/* eslint-disable @typescript-eslint/no-unsafe-member-access -- Each call answers in its own form; tests say what they expect of it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { formWith, skillZip, v1CallsTo, type V1Call } from './v1-calls.js';

const mebibyte = 1024 ** 2;
let service: RunningService;
let call: V1Call;
beforeAll(async () => {
  service = await startRunningService();
  call = v1CallsTo(service.url);
  await putSettings({ sandbox: { project_work_mb: 32 }, skills: { user_mb: 2 } });
});
afterAll(() => service.close());

async function putSettings(settings: object): Promise<number> {
  const { version } = (await (await fetch(`${service.url}/settings`)).json()) as { version: number };
  const put = await fetch(`${service.url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
    body: JSON.stringify(settings),
  });
  return put.status;
}

const put = (path: string, bytes: number) =>
  call(path, { method: 'PUT', body: new Uint8Array(Buffer.alloc(bytes, 'x')) });

test('a general sandbox is held to its size by the file calls too', async () => {
  const at = '/v1/sandbox/u/a';
  expect((await put(`${at}/file?path=one`, 20 * mebibyte)).code).toBe(200);
  const refused = await put(`${at}/file?path=two`, 13 * mebibyte);
  expect([refused.code, refused.data.code]).toEqual([413, 'storage_full']);
  expect(refused.data.details).toMatchObject({ asked: 13 * mebibyte, most: 32 * mebibyte });
  const edit = await call(`${at}/edit?path=d/two`, { method: 'PUT', body: 'x'.repeat(13 * mebibyte) });
  expect(edit.data.code).toBe('storage_full');
  expect((await call(`${at}/files`)).data).toEqual(['one']);
  expect(await readdir(join(service.dataDir, 'workspace/product/skill/.staging'))).toEqual([]);
  // What is removed makes room, and others have their own.
  expect((await put('/v1/sandbox/u2/a/file?path=two', 13 * mebibyte)).code).toBe(200);
  expect((await call(`${at}/file?path=one`, { method: 'DELETE' })).code).toBe(200);
  expect((await put(`${at}/file?path=two`, 13 * mebibyte)).code).toBe(200);
});

test('twenty files at once do not get past it together', async () => {
  const at = '/v1/sandbox/many/a';
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => put(`${at}/file?path=f${n}`, 3 * mebibyte)),
  );
  const taken = answers.filter(({ code }) => code === 200).length;
  expect(taken).toBeGreaterThan(5);
  expect(taken * 3).toBeLessThanOrEqual(32);
  expect((await call(`${at}/files`)).data).toHaveLength(taken);
});

test('what a user has of skills is held to skills.user_mb', async () => {
  const at = '/v1/skills/u/a';
  const noise = (bytes: number) => Buffer.alloc(bytes, 'a line\n');
  const upload = (name: string, bytes: number) =>
    call(`${at}/upload`, { method: 'POST', body: formWith(skillZip(name, { f: noise(bytes) })) });
  expect((await upload('one', 1.5 * mebibyte)).code).toBe(200);
  const refused = await upload('two', mebibyte);
  expect([refused.code, refused.data.code]).toEqual([413, 'storage_full']);
  expect(refused.data.details).toMatchObject({ unit: 'bytes', most: 2 * mebibyte });
  expect((await put(`${at}/one/file?path=g`, mebibyte)).data.code).toBe('storage_full');
  expect((await call(`${at}/list`)).data).toHaveLength(1);
  // In its own place there is room for it.
  expect((await upload('one', 2 * mebibyte)).code).toBe(200);
});

test('what is no size is refused', async () => {
  for (const user_mb of [0, -1, 1.5, '64', null])
    expect(await putSettings({ skills: { user_mb } })).toBe(400);
});
