/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access -- Each call answers in its own form; tests say what they expect of it. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, deflateRawSync } from 'node:zlib';
import { zipBytes } from '../../packages/skill-archive/src/testing/zip-bytes.js';
import { startServer } from '../lifecycle/server-process.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { formWith, skillZip, v1CallsTo, zipOfParts, type V1Answer, type V1Call } from '../v1/v1-calls.js';

/** Made before the server is there: it would not be heard meanwhile. */
const manyEntries = Buffer.from(
  zipBytes(
    Array.from({ length: 100_000 }, (_, n) => ({ name: `s/${n}`, content: '' })),
    { zip64: true },
  ),
);

/** 10 GB of zeros in 10 MB: a piece of it is packed so that it may follow itself. */
function packedZeros(): Buffer {
  const piece = deflateRawSync(Buffer.alloc(10 * 1024 ** 2), { finishFlush: constants.Z_FULL_FLUSH });
  const end = deflateRawSync(Buffer.alloc(0));
  return Buffer.concat([...Array.from({ length: 1024 }, () => piece), end]);
}

type Parts = Parameters<typeof zipOfParts>[0];

let service: RunningService;
let call: V1Call;
let product: string;
beforeAll(async () => {
  service = await startRunningService();
  call = v1CallsTo(service.url);
  product = join(service.dataDir, 'workspace/product');
  expect((await upload(skillZip('s', { 'SKILL.md': '# old', 'old.py': 'old' }))).code).toBe(200);
});
afterAll(() => service.close());
afterEach(async () => {
  // Whatever came, nothing of it is left beside its place.
  expect(await readdir(join(product, 'skill/.staging'))).toEqual([]);
});

const upload = (archive: Uint8Array<ArrayBuffer>, name?: string, at = '/v1/skills/u/a/upload') =>
  call(at, { method: 'POST', body: formWith(archive, name) });

/** Nothing of it is taken: what was there is there as it was, and nothing else. */
async function expectRefused(answer: Promise<V1Answer>, code = 400): Promise<V1Answer> {
  const refused = await answer;
  expect([refused.code, refused.status]).toEqual([code, 'error']);
  expect((await call('/v1/skills/u/a/s/files')).data).toEqual(['SKILL.md', 'old.py']);
  expect((await call('/v1/skills/u/a/list')).data).toHaveLength(1);
  return refused;
}

const good = { name: 's/good', content: 'x' };
const refusedParts = (parts: Parts, code?: number) => expectRefused(upload(zipOfParts(parts)), code);

test.each(['../x', '/x', 'C:\\x', '..\\x', 's/../../x'])(
  'case 10: an archive with the entry %s is refused whole',
  async (name) => {
    const { data } = await refusedParts([good, { name, content: 'x' }]);
    expect(data).toMatchObject({ code: 'invalid_archive', details: { entry: expect.any(String) } });
  },
);

test('case 11: an archive with a link is refused', async () => {
  await refusedParts([good, { name: 's/link', content: '/etc/passwd', mode: 0o120777 }]);
});

test('case 12: a link, and then a file of the same name, is refused', async () => {
  const link = { name: 's/d', content: '/tmp', mode: 0o120777 };
  await refusedParts([link, { name: 's/d', content: 'x' }]);
  await refusedParts([link, { name: 's/d/x', content: 'x' }]);
});

test('case 13: a bomb is stopped at the cap', async () => {
  const zeros = Buffer.alloc(16 * 1024 ** 2);
  await refusedParts([{ name: 's/0', content: zeros }], 413);
  const packed = packedZeros();
  expect(packed.length).toBeLessThan(12 * 1024 ** 2);
  // One that says what it is, and one that says it is small enough.
  const honest = { name: 's/0', packed, bytes: 10 * 1024 ** 3, packedBytes: packed.length, zip64: true };
  expect((await refusedParts([good, honest], 413)).data).toMatchObject({
    code: 'archive_too_large',
    details: { limit: 'bytes' },
  });
  const before = process.memoryUsage().rss;
  const begun = performance.now();
  const liar = { name: 's/0', packed, bytes: 64 * 1024 ** 2 };
  expect((await refusedParts([good, liar])).data).toMatchObject({ code: 'invalid_archive' });
  // Not a tenth of it was unpacked, and nothing of it held.
  expect(performance.now() - begun).toBeLessThan(10_000);
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 ** 2);
  // One inside another is a file like any.
  const inner = zipOfParts([{ name: 'x', content: zeros }]);
  const nested = skillZip('n', { 'inner.zip': inner });
  expect((await upload(nested, 'x.zip', '/v1/skills/nested/a/upload')).code).toBe(200);
  expect((await call('/v1/skills/nested/a/n/files')).data).toEqual(['inner.zip']);
});

test('case 14: a header that lies about sizes is found out by the stream', async () => {
  await refusedParts([good, { name: 's/x', content: 'x'.repeat(100_000), bytes: 10 }]);
  await refusedParts([good, { name: 's/x', content: 'x', bytes: 100_000 }]);
});

test('case 15: more entries than are allowed are refused, and it is said so', async () => {
  const { data } = await expectRefused(upload(manyEntries), 413);
  expect(data).toMatchObject({ code: 'archive_too_large', details: { limit: 'entries' } });
});

test('case 16: names in UTF-8 and in GBK are the right ones, whatever bytes are in them', async () => {
  const at = '/v1/skills/names/a';
  const utf8 = zipOfParts([{ name: '技能/主程序.py', content: 'x', flags: 0x800 }]);
  expect((await upload(utf8, 'x.zip', `${at}/upload`)).code).toBe(200);
  // 誠 is D5 5C in GBK: its second byte is a backslash, which is no separator.
  const gbk = zipOfParts([{ name: Buffer.from([0x67, 0x2f, 0xd5, 0x5c, 0x2e, 0x70, 0x79]), content: 'x' }]);
  expect((await upload(gbk, 'x.zip', `${at}/upload`)).code).toBe(200);
  expect((await call(`${at}/${encodeURIComponent('技能')}/files`)).data).toEqual(['主程序.py']);
  expect((await call(`${at}/g/files`)).data).toEqual(['誠.py']);
});

test('case 17: names in neither, and dots in disguise, are refused', async () => {
  await refusedParts([good, { name: Buffer.from([0x73, 0x2f, 0xff, 0xff]), content: 'x' }]);
  // s/../x and s/./x with dots of two bytes each, which would be a character in GBK: said to be UTF-8, or not.
  for (const dots of [
    [0xc0, 0xae, 0xc0, 0xae],
    [0x2e, 0xc0, 0xae],
    [0xc0, 0xae],
  ]) {
    const name = Buffer.from([0x73, 0x2f, ...dots, 0x2f, 0x78]);
    for (const flags of [0, 0x800]) await refusedParts([good, { name, content: 'x', flags }]);
  }
});

test('case 18: modes are those of files, whatever the archive says', async () => {
  const at = '/v1/skills/modes/a/upload';
  const parts = [
    { name: 'm/setuid', content: 'x', mode: 0o104755 },
    { name: 'm/none', content: 'x', mode: 0o100000 },
    { name: 'm/device', content: 'x', mode: 0o020666 },
  ];
  expect((await upload(zipOfParts(parts), 'x.zip', at)).code).toBe(200);
  const folder = join(product, 'skill/overlay/modes/a/m');
  const [generation = ''] = await readdir(folder);
  for (const [name, mode] of [
    ['setuid', 0o755],
    ['none', 0o644],
    ['device', 0o644],
  ] as const) {
    const found = await stat(join(folder, generation, name));
    expect([name, found.isFile(), found.mode & 0o7777]).toEqual([name, true, mode]);
  }
});

test('case 19: what is no whole, plain ZIP with something in it is refused, and it is said why', async () => {
  const whole = skillZip('s', { a: 'hello' });
  const bad: [string, Buffer<ArrayBuffer>][] = [
    ['encrypted', zipOfParts([{ name: 's/a', content: 'x', flags: 1 }])],
    ['truncated', whole.subarray(0, whole.length - 30)],
    ['empty', Buffer.alloc(0)],
    ['not a ZIP', Buffer.from('x'.repeat(1000))],
    ['no entries', zipOfParts([])],
  ];
  for (const [what, archive] of bad) {
    const { data } = await expectRefused(upload(archive));
    expect([what, data.code]).toEqual([what, 'invalid_archive']);
    expect(data.message.length).toBeGreaterThan(20);
  }
  const missing = await call('/v1/skills/u/a/upload', { method: 'POST', body: new FormData() });
  expect([missing.code, missing.data.code]).toEqual([400, 'invalid_request']);
  const other = new FormData();
  other.append('archive', new Blob(['x']), 'x.zip');
  expect((await call('/v1/skills/u/a/upload', { method: 'POST', body: other })).code).toBe(400);
  expect((await call('/v1/skills/u/a/upload', { method: 'POST', body: 'x' })).code).toBe(415);
  expect((await upload(whole, 'x.zip', '/v1/skills/u/a/upload?scope=both')).code).toBe(400);
});

const versionOf = (n: number) =>
  skillZip('s', Object.fromEntries(Array.from({ length: 40 }, (_, file) => [`f${file}`, `version ${n}`])));

test('case 20: a server that is killed while it replaces a skill leaves the old or the new one, whole', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'secbox-'));
  const start = () => startServer({ SECBOX_DATA_DIR: dataDir });
  let server = await start();
  try {
    for (let n = 1; n <= 4; n += 1) {
      const calls = v1CallsTo(server.url);
      const send = (version: number) =>
        calls('/v1/skills/u/a/upload', { method: 'POST', body: formWith(versionOf(version)) });
      expect((await send(n * 10)).code).toBe(200);
      const under = send(n * 10 + 1).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, n * 15));
      await server.end('SIGKILL');
      await under;
      server = await start();
      const after = v1CallsTo(server.url);
      const files = (await after('/v1/skills/u/a/s/files')).data as string[];
      expect(files).toHaveLength(40);
      const texts = new Set<string>();
      for (const path of files) texts.add((await after(`/v1/skills/u/a/s/file?path=${path}`)).text);
      expect([`version ${n * 10}`, `version ${n * 10 + 1}`]).toContain([...texts].join());
    }
  } finally {
    await server.end('SIGTERM');
    await rm(dataDir, { recursive: true, force: true });
  }
}, 120_000);
