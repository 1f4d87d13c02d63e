/* eslint-disable @typescript-eslint/no-unsafe-member-access -- Each call answers in its own form; tests say what they expect of it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pathsIn } from '../lifecycle/data-folder.js';
import { v1CallsTo, type V1Answer, type V1Call } from '../v1/v1-calls.js';

let service: RunningService;
let call: V1Call;
/** The folder of the general sandbox of `u` in `a`, in which programs could do all this. */
let sandbox: string;
let outside: string;
const sandboxUrl = '/v1/sandbox/u/a';
const skillUrl = '/v1/skills/u/a/s';
const projectUrl = '/projects/p/files/work';
const inputsUrl = '/projects/p/files/inputs';
const areas = [sandboxUrl, skillUrl, projectUrl, inputsUrl];

beforeAll(async () => {
  service = await startRunningService();
  call = v1CallsTo(service.url);
  await service.shell('echo kept > f', { inputs: [{ path: 'f', content: 'kept\n' }] });
  for (const area of [sandboxUrl, skillUrl]) await put(`${area}/edit?path=f`, 'kept\n');
  sandbox = join(service.dataDir, 'workspace/product/sandbox/u/a');
  outside = join(service.dataDir, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'f'), 'secret');
});
afterAll(() => service.close());

const put = (path: string, body: string, headers = {}) => call(path, { method: 'PUT', body, headers });

/** Every call of an area that takes a path, with that path. */
function withPath(area: string, path: string): (() => Promise<V1Answer>)[] {
  const at = encodeURIComponent(path);
  return [
    () => call(`${area}/content?path=${at}`),
    () => call(`${area}/content?path=${at}&start=1&end=1`),
    () => call(`${area}/stat?path=${at}`),
    () => call(`${area}/file?path=${at}`),
    () => put(`${area}/file?path=${at}`, 'x'),
    () => put(`${area}/edit?path=${at}`, 'x'),
    () => put(`${area}/edit?path=${at}&start=1&end=1`, 'x'),
    () => call(`${area}/move?from=${at}&to=elsewhere`, { method: 'POST' }),
    () => call(`${area}/move?from=f&to=${at}`, { method: 'POST' }),
    () => call(`${area}/file?path=${at}`, { method: 'DELETE' }),
  ];
}

/** Those that were not answered with that code. */
async function notAnswered(code: number, calls: readonly (() => Promise<V1Answer>)[]): Promise<string[]> {
  const others: string[] = [];
  for (const [n, each] of calls.entries()) {
    const answer = await each();
    if (answer.code !== code) others.push(`call ${n}: ${answer.code} ${answer.text}`);
  }
  return others;
}

test.each(areas)('case 1: a path that leads out of %s is refused, and nothing is touched', async (area) => {
  const before = await pathsIn(service.dataDir);
  for (const path of [
    '../x',
    '../../x',
    'a/../../x',
    '/etc/passwd',
    '%2e%2e%2fx',
    '..\\x',
    'C:\\x',
    '.',
    'a//b',
  ]) {
    expect([path, await notAnswered(400, withPath(area, path))]).toEqual([path, []]);
  }
  expect(await pathsIn(service.dataDir)).toEqual(before);
});

test.each(areas)('case 2: what no path of %s can be is refused', async (area) => {
  for (const path of ['a\0b', 'a\nb', 'x'.repeat(256), 'x/'.repeat(2500), '']) {
    expect([path.slice(0, 9), await notAnswered(400, withPath(area, path))]).toEqual([path.slice(0, 9), []]);
  }
});

test('case 3: a link as the leaf or on the way is refused, on reads, edits and lists', async () => {
  await symlink(join(outside, 'f'), join(sandbox, 'leaf'));
  await symlink(outside, join(sandbox, 'way'));
  for (const path of ['leaf', 'way/f']) {
    const [moved, movedTo, deleted] = withPath(sandboxUrl, path).slice(-3);
    const others = withPath(sandboxUrl, path).slice(0, -3);
    expect(await notAnswered(400, [...others, ...(moved ? [moved] : [])])).toEqual([]);
    expect([400, 409]).toContain((await movedTo?.())?.code);
    if (path === 'way/f') expect((await deleted?.())?.code).toBe(400);
  }
  expect((await call(`${sandboxUrl}/files`)).text).not.toMatch(/leaf|way/);
  expect((await call(`${sandboxUrl}/search?text=secret`)).data.matches).toEqual([]);
  expect(await readFile(join(outside, 'f'), 'utf8')).toBe('secret');
});

test('case 4: below a linked folder, or in the place of a dangling link, nothing is made outside', async () => {
  await symlink(join(outside, 'new'), join(sandbox, 'dangling'));
  await symlink(outside, join(sandbox, 'parent'));
  for (const path of ['dangling', 'parent/new', 'parent/deep/new']) {
    for (const kind of ['edit', 'file']) {
      expect((await put(`${sandboxUrl}/${kind}?path=${path}`, 'x')).code).toBe(400);
    }
  }
  expect(await readdir(outside)).toEqual(['f']);
});

test('case 5: a folder and a link are swapped 10,000 times, and never a byte comes from outside', async () => {
  await put(`${sandboxUrl}/edit?path=swapped/f`, 'mine');
  const worker = new Worker(
    `const { renameSync, rmSync, symlinkSync } = require('node:fs');
     const { sandbox, outside, times } = require('node:worker_threads').workerData;
     const at = (name) => sandbox + '/' + name;
     for (let n = 0; n < times; n += 1) {
       symlinkSync(outside, at('link'));
       renameSync(at('swapped'), at('aside'));
       try { renameSync(at('link'), at('swapped')); } catch {}
       for (let done = false; !done;) {
         try {
           rmSync(at('swapped'), { recursive: true, force: true });
           renameSync(at('aside'), at('swapped'));
           done = true;
         } catch {}
       }
       rmSync(at('link'), { force: true });
     }`,
    { eval: true, workerData: { sandbox, outside, times: 10_000 } },
  );
  const state = { over: false };
  const swapped = new Promise<void>((resolve, reject) => {
    worker.once('exit', () => resolve()).once('error', reject);
  }).finally(() => (state.over = true));
  const texts: string[] = [];
  while (!state.over) {
    const [read, downloaded] = await Promise.all([
      call(`${sandboxUrl}/content?path=swapped/f`),
      call(`${sandboxUrl}/file?path=swapped/f`),
      put(`${sandboxUrl}/edit?path=swapped/g`, 'mine too'),
    ]);
    texts.push(read.text, downloaded.text);
  }
  await swapped;
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.filter((text) => text.includes('secret'))).toEqual([]);
  expect(await readdir(outside)).toEqual(['f']);
  expect(await readFile(join(outside, 'f'), 'utf8')).toBe('secret');
});

test('case 6: pipes and a socket are refused within a second, and the server goes on answering', async () => {
  const names = Array.from({ length: 8 }, (_, n) => `pipe${n}`);
  for (const name of names) execFileSync('mkfifo', [join(sandbox, name)]);
  const listening = createServer().listen(join(sandbox, 'socket'));
  await once(listening, 'listening');
  try {
    for (const name of ['content', 'file']) {
      const begun = performance.now();
      const reads = [...names, 'socket'].map((path) => call(`${sandboxUrl}/${name}?path=${path}`));
      const whole = call(`${sandboxUrl}/content?path=f`);
      expect((await Promise.all(reads)).map(({ code }) => code)).toEqual(reads.map(() => 400));
      expect((await whole).code).toBe(200);
      expect(performance.now() - begun).toBeLessThan(1000);
    }
    for (const path of ['pipe0', 'socket']) {
      const begun = performance.now();
      expect((await put(`${sandboxUrl}/edit?path=${path}`, 'x')).code).toBe(400);
      expect(performance.now() - begun).toBeLessThan(1000);
    }
  } finally {
    listening.close();
  }
});

/** As it stands, which fetch would tidy up first. */
function rawStatus(path: string): Promise<number | undefined> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

test('case 7: ids that are no ids are refused', async () => {
  const bad = ['..', '.', '%2e%2e', 'a:b', 'a,b', '-v', '', 'x'.repeat(300), 'a%2fb', 'a%00', '%E0'];
  for (const id of bad) {
    expect([id, await rawStatus(`/v1/skills/${id}/a/list`)]).toEqual([id, 400]);
    expect([id, await rawStatus(`/v1/skills/u/${id}/list`)]).toEqual([id, 400]);
    expect([id, await rawStatus(`/v1/sandbox/${id}/a/files`)]).toEqual([id, 400]);
    expect([id, await rawStatus(`/v1/skills/u/a/${id}/files`)]).toEqual([id, 400]);
  }
});

test('case 8: 100,000 files come in pages, a file of 5 GB by lines or as a download, in flat memory', async () => {
  const url = '/v1/sandbox/many/a';
  const folder = join(service.dataDir, 'workspace/product/sandbox/many/a');
  await call(`${url}/files`);
  execFileSync('bash', ['-c', 'mkdir d && cd d && seq -f %06.0f 100000 | xargs touch'], { cwd: folder });
  await writeFile(join(folder, 'huge'), 'one\ntwo\n');
  await truncate(join(folder, 'huge'), 5 * 1024 ** 3);
  const before = process.memoryUsage().rss;
  expect((await call(`${url}/files`)).data).toMatchObject({ code: 'listing_too_large' });
  const page = (await call(`${url}/files?limit=1000&after=d/050000`)).data as string[];
  expect([page.length, page[0], page.at(-1)]).toEqual([1000, 'd/050001', 'd/051000']);
  expect((await call(`${url}/content?path=huge`)).code).toBe(413);
  expect((await call(`${url}/content?path=huge&start=2&end=2`)).data).toEqual({ content: ['two'] });
  expect((await call(`${url}/stat?path=huge`)).data).toMatchObject({ bytes: 5 * 1024 ** 3 });
  const last = await call(`${url}/file?path=huge`, { headers: { range: 'bytes=-4' } });
  expect([last.code, last.text]).toEqual([206, '\0\0\0\0']);
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 ** 2);
}, 300_000);

test.each(areas)(
  'case 9: of edits of %s that begin from the same, one wins, and nothing is mixed',
  async (area) => {
    const first = await put(`${area}/edit?path=edited`, 'first');
    const etag = first.headers.get('etag') ?? '';
    const texts = Array.from({ length: 8 }, (_, n) => String(n).repeat(50_000));
    const answers = await Promise.all(
      texts.map((text) => put(`${area}/edit?path=edited`, text, { 'if-match': etag })),
    );
    expect(answers.map(({ code }) => code).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 412)]);
    const { text } = await call(`${area}/file?path=edited`);
    expect(texts).toContain(text);
    expect(
      (await call(`${area}/file?path=edited`, { method: 'DELETE', headers: { 'if-match': etag } })).code,
    ).toBe(412);
    expect((await put(`${area}/edit?path=edited`, 'x', { 'if-none-match': '*' })).code).toBe(412);
    const now = (await call(`${area}/stat?path=edited`)).headers.get('etag') ?? '';
    const last = (match: string) => put(`${area}/edit?path=edited`, 'x', { 'if-match': match });
    expect((await last(`W/${now}`)).code).toBe(412);
    expect((await last(`"other", ${now}`)).code).toBe(200);
    expect((await last(`"other", ${now}`)).code).toBe(412);
  },
);
