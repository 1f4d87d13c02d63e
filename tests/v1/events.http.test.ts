/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access -- Each call answers in its own form; tests say what they expect of it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SecurityEvent } from '@secbox/contracts';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startKeyedService, type KeyedService, type MadeKey } from '../access/keyed-service.js';
import { formWith, skillZip, v1CallsTo, type V1Call } from './v1-calls.js';

let service: KeyedService;
let call: V1Call;
let author: MadeKey;
let worker: MadeKey;
let auditor: MadeKey;
beforeAll(async () => {
  service = await startKeyedService();
  call = v1CallsTo(service.url);
  author = await service.makeKey('default', ['author', 'worker']);
  worker = await service.makeKey('default', ['worker']);
  auditor = await service.makeKey('default', ['auditor']);
});
afterAll(() => service.close());

const send = async (key: MadeKey, method: string, path: string, body?: string | FormData) => {
  const answer = await call(path, { method, key: key.key, ...(body === undefined ? {} : { body }) });
  expect([path, answer.code]).toEqual([path, 200]);
  return answer;
};

/** Of this agent, oldest first. */
async function eventsOf(agent: string, key = auditor): Promise<SecurityEvent[]> {
  const { body } = await service.call('/audit/events?limit=200', { key: key.key });
  const { events } = body as unknown as { events: SecurityEvent[] };
  return events.filter(({ details }) => details['agent_id'] === agent).reverse();
}

const uploaded = (files: Readonly<Record<string, string>>) => formWith(skillZip('w', files));

test('who published which version, and who took it back, is on record', async () => {
  const at = '/v1/skills/u/pub';
  await send(author, 'POST', `${at}/upload?scope=baseline`, uploaded({ a: '1' }));
  const first = (await send(worker, 'GET', `${at}/w/status`)).data.current_version;
  await send(author, 'PUT', `${at}/w/edit?path=a`, '2');
  const { version: second } = (await send(author, 'POST', `${at}/w/baseline?force=true`)).data;
  await send(author, 'POST', `${at}/w/versions/${first}/restore`);
  await send(author, 'DELETE', `${at}/w/baseline`);
  const by = { tenant: 'default', actor: expect.stringContaining(author.keyId), address: '127.0.0.1' };
  const about = { user_id: 'u', agent_id: 'pub', skill_id: 'w' };
  const published = (details: object) => ({
    type: 'skill_published',
    subject: 'pub/w',
    ...by,
    details: { ...about, ...details },
  });
  expect(await eventsOf('pub')).toMatchObject([
    published({ version: first, previous: null, origin: 'upload' }),
    { type: 'file_changed', ...by, details: { ...about, area: 'skill', path: 'a', change: 'written' } },
    published({ version: second, previous: first, origin: 'baseline', forced: true }),
    published({ version: first, previous: second, origin: 'restore' }),
    { type: 'skill_withdrawn', subject: 'pub/w', ...by, details: about },
  ]);
});

test('what users did to their own is on record, and what was refused is not', async () => {
  const [at, sandbox] = ['/v1/skills/u/own', '/v1/sandbox/u/own'];
  await send(worker, 'POST', `${at}/upload`, uploaded({ a: '1' }));
  await send(worker, 'POST', `${at}/w/move?from=a&to=b`);
  await send(worker, 'DELETE', `${at}/w/file?path=b`);
  expect((await call(`${at}/w/file?path=b`, { method: 'DELETE', key: worker.key })).code).toBe(404);
  await send(worker, 'PUT', `${at}/w/edit?path=c`, 'x');
  await send(worker, 'DELETE', `${at}/w`);
  const [item] = (await send(worker, 'GET', `${at}/trash`)).data;
  await send(worker, 'POST', `${at}/trash/${item.id}/restore`);
  await send(worker, 'PUT', `${sandbox}/edit?path=notes.txt`, 'hello');
  const events = await eventsOf('own');
  expect(
    events.map(({ type, details: { area, change, path, to } }) => [type, area, change, path, to]),
  ).toEqual([
    ['skill_uploaded', undefined, undefined, undefined, undefined],
    ['file_changed', 'skill', 'moved', 'a', 'b'],
    ['file_changed', 'skill', 'deleted', 'b', undefined],
    ['file_changed', 'skill', 'written', 'c', undefined],
    ['skill_deleted', undefined, undefined, undefined, undefined],
    ['skill_restored', undefined, undefined, undefined, undefined],
    ['file_changed', 'sandbox', 'written', 'notes.txt', undefined],
  ]);
  expect(events.at(-1)?.details).toMatchObject({
    bytes: 5,
    created: true,
    etag: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
  });
  expect(JSON.stringify(events)).not.toContain('hello');
});

test('a command or an argument that is forbidden is on record, and one that is merely wrong is not', async () => {
  const execute = (query: string, args: string) =>
    call(`/v1/sandbox/u/refused/execute${query}`, {
      method: 'POST',
      key: worker.key,
      headers: { 'content-type': 'application/json' },
      body: args,
    });
  expect((await execute('?command=nc', '[]')).code).toBe(403);
  expect((await execute('?command=cat', '["/etc/passwd"]')).code).toBe(403);
  expect((await execute('?command=cat', '[1]')).code).toBe(400);
  const { body } = await service.call('/audit/events?type=access_refused', { key: auditor.key });
  const { events } = body as unknown as { events: SecurityEvent[] };
  const own = events.filter(({ actor }) => actor?.includes(worker.keyId));
  // One event, or two where a minute ended in between.
  expect(new Set(own.map(({ details }) => details['reason']))).toEqual(new Set(['command_refused']));
  expect(own.reduce((sum, { count }) => sum + count, 0)).toBe(2);
});

test('each tenant sees its own', async () => {
  const stranger = await service.makeKey('other', ['worker', 'auditor']);
  await send(stranger, 'PUT', '/v1/sandbox/u/theirs/edit?path=x', 'x');
  expect(await eventsOf('theirs', stranger)).toHaveLength(1);
  expect(await eventsOf('theirs')).toEqual([]);
});

/** All that is in the folder of skills and sandboxes, and when it was changed. */
async function productTree(): Promise<string[]> {
  const root = join(service.dataDir, 'workspace/product');
  const paths = await readdir(root, { recursive: true });
  return Promise.all(paths.sort().map(async (path) => `${path} ${(await stat(join(root, path))).mtimeMs}`));
}

test('an auditor looks at skills and sandboxes of anyone, and leaves no trace', async () => {
  await send(author, 'POST', '/v1/skills/publisher/looked/upload?scope=baseline', uploaded({ a: 'one' }));
  await send(author, 'PUT', '/v1/sandbox/used/looked/edit?path=f', 'one');
  const before = await productTree();
  for (const user of ['used', 'never']) {
    const [skills, sandbox] = [`/v1/skills/${user}/looked`, `/v1/sandbox/${user}/looked`];
    expect((await send(auditor, 'GET', `${skills}/list`)).data).toMatchObject([
      { id: 'w', status: 'UNCHANGED' },
    ]);
    expect((await send(auditor, 'GET', `${skills}/w/content?path=a`)).data.content).toBe('one');
    for (const path of [
      '/registry',
      '/trash',
      '/w/status',
      '/w/diff',
      '/w/versions',
      '/w/files',
      '/w/search?text=o',
    ])
      await send(auditor, 'GET', `${skills}${path}`);
    for (const path of ['/w/stat?path=a', '/w/file?path=a']) await send(auditor, 'GET', `${skills}${path}`);
    const isThere = user === 'used';
    expect((await send(auditor, 'GET', `${sandbox}/files`)).data).toEqual(isThere ? ['f'] : []);
    expect((await send(auditor, 'GET', `${sandbox}/search?text=one`)).data.matches).toHaveLength(
      isThere ? 1 : 0,
    );
    for (const path of ['content', 'stat', 'file']) {
      const { code } = await call(`${sandbox}/${path}?path=f`, { key: auditor.key });
      expect([path, code]).toEqual([path, isThere ? 200 : 404]);
    }
  }
  expect(await productTree()).toEqual(before);
});
