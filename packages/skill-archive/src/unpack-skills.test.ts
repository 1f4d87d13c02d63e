import { crc32 } from 'node:zlib';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { defaultArchiveLimits, type ArchiveLimits } from './archive-limits.js';
import { zipBytes, type ZipEnd, type ZipPart } from './testing/zip-bytes.js';
import { unpackSkills } from './unpack-skills.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'secbox-archive-'));
});
afterEach(() => rm(root, { recursive: true }));

async function unpackBytes(bytes: Buffer, limits: Partial<ArchiveLimits> = {}) {
  const archive = join(root, 'upload');
  await writeFile(archive, bytes);
  return unpackSkills(archive, join(root, 'staging'), {
    archiveName: 'the skill.zip',
    limits: { ...defaultArchiveLimits, ...limits },
  });
}
const unpack = (parts: readonly ZipPart[], end?: ZipEnd) => unpackBytes(zipBytes(parts, end));

/** Refused, for that reason, and nothing of it is left. */
async function expectRefused(unpacking: Promise<unknown>, message: RegExp, code = 'invalid_archive') {
  await expect(unpacking).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect((await readdir(root)).filter((name) => name !== 'upload')).toEqual([]);
}
const expectPartRefused = (part: ZipPart, message: RegExp) =>
  expectRefused(unpack([{ name: 's/ok.txt', content: 'ok' }, part]), message);

async function pathsOf(parts: readonly ZipPart[]) {
  const skills = await unpack(parts);
  return Object.fromEntries(
    skills.map(({ skillId, files }) => [skillId, files.map(({ path }) => path).sort()]),
  );
}

test('files come out as they went in, with sizes and hashes', async () => {
  const large = randomBytes(3 * 1024 ** 2);
  const text = 'x'.repeat(2 * 1024 ** 2);
  const [skill] = await unpack([
    { name: 's/' },
    { name: 's/SKILL.md', content: '# Title\n' },
    { name: 's/stored.bin', content: large, method: 0 },
    { name: 's/packed.txt', content: text },
    { name: 's/empty', content: '' },
    { name: 's/none/' },
  ]);
  expect(skill).toMatchObject({ skillId: 's', metadata: { name: 'Title' }, folders: ['none'] });
  const content = (name: string) => readFile(join(skill?.folder ?? '', name));
  expect((await content('stored.bin')).equals(large)).toBe(true);
  expect((await content('packed.txt')).toString()).toBe(text);
  expect(skill?.files.find(({ path }) => path === 'empty')).toEqual({
    path: 'empty',
    bytes: 0,
    sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    executable: false,
  });
});

describe('case 10: entries that lead elsewhere', () => {
  for (const name of [
    '../x',
    '/x',
    'C:\\x',
    'C:/x',
    '..\\x',
    's/../../x',
    's/./x',
    's//x',
    's/%2e%2e/x',
    's/a\0b',
    '',
  ]) {
    test(JSON.stringify(name), () => expectPartRefused({ name, content: 'x' }, /path|\\|empty/));
  }
  test('in litter that would be dropped', () =>
    expectPartRefused({ name: '__MACOSX/../../x', content: 'x' }, /\.\./));
});

test('case 11: a link is refused, whatever system packed it', async () => {
  for (const madeBy of [0, 3, 19]) {
    await expectPartRefused({ name: 's/l', content: '/etc/passwd', mode: 0o120777, madeBy }, /symbolic link/);
  }
});

test('case 12: a link, then a file of the same name, is refused', () =>
  expectRefused(
    unpack([
      { name: 's/l', content: '/etc', mode: 0o120777 },
      { name: 's/l/passwd', content: 'x' },
    ]),
    /symbolic link/,
  ));

describe('case 13: bombs', () => {
  const zeros = Buffer.alloc(20 * 1024 ** 2);
  test('by their size', () =>
    expectRefused(
      unpackBytes(zipBytes([{ name: 's/x', content: zeros }]), { bytes: 1e6 }),
      /too many bytes/,
      'archive_too_large',
    ));
  test('by what they grow', () =>
    expectRefused(
      unpackBytes(zipBytes([{ name: 's/x', content: zeros }])),
      /times its size/,
      'archive_too_large',
    ));
  test('by one file', () =>
    expectRefused(
      unpackBytes(zipBytes([{ name: 's/x', content: 'xx' }]), { fileBytes: 1 }),
      /a file in it/,
      'archive_too_large',
    ));
  test('by their own size', () =>
    expectRefused(
      unpackBytes(zipBytes([{ name: 's/x', content: 'xx' }]), { archiveBytes: 50 }),
      /too many bytes/,
      'archive_too_large',
    ));
  test('of entries that share their content', () =>
    expectRefused(
      unpack([
        { name: 's/a', content: 'x'.repeat(1000) },
        { name: 's/b', content: 'x'.repeat(1000), sharesWith: 0 },
      ]),
      /overlap/,
    ));
  test('in a bomb stay packed', async () => {
    const inner = zipBytes([{ name: 'x', content: zeros }]);
    const [skill] = await unpack([{ name: 's/inner.zip', content: inner, method: 0 }]);
    expect(await readFile(join(skill?.folder ?? '', 'inner.zip'))).toEqual(inner);
  });
  test('of folders', () =>
    expectRefused(
      unpackBytes(zipBytes([{ name: `s/${'d/'.repeat(20)}x`, content: 'x' }])),
      /too deep/,
      'archive_too_large',
    ));
  test('of paths', () => {
    const at = (bytes: number) => `s/${`${'d'.repeat(249)}/`.repeat(11)}${'x'.repeat(bytes - 2752)}`;
    expect(at(3_000)).toHaveLength(3_000);
    return expectPartRefused({ name: at(3_001), content: 'x' }, /at most 3000 bytes/);
  });
});

describe('case 14: sizes that lie', () => {
  const zeros = Buffer.alloc(30 * 1024 ** 2);
  test.each([
    ['small', { content: 'x'.repeat(1000), bytes: 10 }],
    ['small, none', { content: 'x'.repeat(1000), bytes: 0 }],
    ['too much announced', { content: 'x', bytes: 2 }],
    ['stored', { content: 'xx', method: 0, bytes: 1 }],
    ['large', { content: zeros, bytes: 2 * 1024 ** 2 }],
    ['nothing packed', { content: '', method: 8, packedBytes: 0, bytes: 5 * 1024 ** 2 }],
  ] as const)('%s', (_, part) => expectPartRefused({ name: 's/x', ...part }, /not of the size|broken/));
  test('a packed size past the end', () =>
    expectPartRefused({ name: 's/x', content: 'x', packedBytes: 1e6 }, /cut off|overlap/));
  test('a checksum', () => expectPartRefused({ name: 's/x', content: 'x', crc32: 1 }, /broken/));
  test('a checksum of a large file', () =>
    expectPartRefused({ name: 's/x', content: randomBytes(2e6), crc32: 1 }, /broken/));
});

test('case 15: too many entries are refused before any is read', async () => {
  const parts = Array.from({ length: 100 }, (_, n) => ({ name: `s/${n}`, content: 'x' }));
  await expectRefused(unpackBytes(zipBytes(parts), { entries: 99 }), /too many entries/, 'archive_too_large');
  const many = { zip64: true, zip64Entries: 2n ** 40n };
  await expectRefused(unpack([{ name: 's/x' }], many), /too many entries/, 'archive_too_large');
  await expectRefused(unpack([{ name: 's/x' }], { zip64: true, zip64Entries: 2n ** 60n }), /absurd/);
});

describe('case 16: names', () => {
  const gbk = (...bytes: number[]) => Buffer.from(bytes);
  const folder = Buffer.from('s/');
  test('in UTF-8, said or not', async () => {
    expect(await pathsOf([{ name: '天气/主.py', flags: 0x800 }])).toEqual({ 天气: ['主.py'] });
    await rm(join(root, 'staging'), { recursive: true });
    expect(await pathsOf([{ name: '天气/主.py' }])).toEqual({ 天气: ['主.py'] });
  });
  test('in GBK, of which one byte is that of a backslash', async () => {
    // 誠 is D55C.
    const name = Buffer.concat([folder, gbk(0xd5, 0x5c), Buffer.from('.txt')]);
    const more = Buffer.concat([folder, gbk(0xd6, 0xd0, 0xce, 0xc4)]);
    expect(await pathsOf([{ name }, { name: more }])).toEqual({ s: ['中文', '誠.txt'] });
  });
  test('one that is no UTF-8 makes GBK of all that do not say', async () => {
    // C3 A9 is é in UTF-8 and 茅 in GBK.
    const both = Buffer.concat([folder, gbk(0xc3, 0xa9)]);
    const only = Buffer.concat([folder, gbk(0xd5, 0x5c)]);
    expect(await pathsOf([{ name: both }, { name: only }, { name: 's/é', flags: 0x800 }])).toEqual({
      s: ['é', '茅', '誠'],
    });
  });
  test('in the extra field of Info-ZIP, while it belongs to the name', async () => {
    const field = (of: string, name: string) => {
      const text = Buffer.from(name);
      const extra = Buffer.alloc(9 + text.length);
      extra.writeUInt16LE(0x7075, 0);
      extra.writeUInt16LE(5 + text.length, 2);
      extra[4] = 1;
      extra.writeUInt32LE(crc32(of), 5);
      text.copy(extra, 9);
      return extra;
    };
    expect(
      await pathsOf([
        { name: 's/__', extra: field('s/__', 's/主') },
        { name: 's/++', extra: field('other', 's/次') },
      ]),
    ).toEqual({ s: ['++', '主'] });
  });
  test('are made NFC', async () => {
    expect(await pathsOf([{ name: 's/e\u0301' }])).toEqual({ s: ['\u00e9'] });
  });
});

describe('case 17: names that are nothing', () => {
  test.each([
    ['invalid in both', Buffer.from([0x73, 0x2f, 0xff, 0xff])],
    ['cut off', Buffer.from([0x73, 0x2f, 0xd5])],
    ['overlong dots', Buffer.from([0x73, 0x2f, 0xc0, 0xae, 0xc0, 0xae, 0x2f, 0x78])],
    ['a dot and an overlong one', Buffer.from([0x73, 0x2f, 0x2e, 0xc0, 0xae, 0x2f, 0x78])],
  ])('%s', (_, name) => expectPartRefused({ name, content: 'x' }, /neither UTF-8 nor GBK/));
  test('said to be UTF-8', () =>
    expectPartRefused({ name: Buffer.from([0x73, 0x2f, 0xd5, 0x5c]), flags: 0x800 }, /not the UTF-8/));
});

test('case 18: modes are 0644 and 0755', async () => {
  const modes = { setuid: 0o104755, device: 0o020666, none: 0o100000, wide: 0o100777, zero: 0 };
  const [skill] = await unpack(
    Object.entries(modes).map(([name, mode]) => ({ name: `s/${name}`, content: 'x', mode })),
  );
  const found = await Promise.all(
    Object.keys(modes).map(async (name) => (await stat(join(skill?.folder ?? '', name))).mode.toString(8)),
  );
  expect(found).toEqual(['100755', '100644', '100644', '100755', '100644']);
});

describe('case 19: what is no archive', () => {
  test('encrypted', () => expectPartRefused({ name: 's/x', content: 'x', flags: 1 }, /encrypted/));
  test('empty', () => expectRefused(unpackBytes(Buffer.alloc(0)), /it is empty/));
  test('not a ZIP', () => expectRefused(unpackBytes(Buffer.from('x'.repeat(100))), /no ZIP/));
  test('without entries', () => expectRefused(unpack([]), /holds nothing/));
  test('with folders only', () => expectRefused(unpack([{ name: 's/' }]), /no files/));
  test('with litter only', () => expectRefused(unpack([{ name: 's/.DS_Store', content: 'x' }]), /no files/));
  test('another method', () => expectPartRefused({ name: 's/x', content: 'x', method: 12 }, /method.*12/));
  test('cut off at any byte', async () => {
    const whole = zipBytes([{ name: 's/x', content: 'hello' }]);
    for (let length = 1; length < whole.length; length += 1) {
      await expectRefused(unpackBytes(whole.subarray(0, length)), /cut off|no ZIP/);
    }
  });
  test('any one byte changed is taken or refused, never anything else', async () => {
    const whole = zipBytes([{ name: 's/x', content: 'hello hello hello' }]);
    for (let at = 0; at < whole.length; at += 1) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 0xff;
      await unpackBytes(changed).then(
        () => rm(join(root, 'staging'), { recursive: true }),
        (error: unknown) => expect(error).toMatchObject({ name: 'SecboxError' }),
      );
      expect(await readdir(root)).toEqual(['upload']);
    }
  });
});

describe('names that meet', () => {
  test.each([
    ['twice', [{ name: 's/a' }, { name: 's/a' }], /twice/],
    ['in another case', [{ name: 's/Ab' }, { name: 's/aB' }], /case/],
    ['folders in another case', [{ name: 's/D/x' }, { name: 's/d/y' }], /case/],
    ['sharp s', [{ name: 's/straße' }, { name: 's/STRASSE' }], /case/],
    ['composed and not', [{ name: 's/\u00e9' }, { name: 's/e\u0301' }], /twice/],
    ['a file, then in it', [{ name: 's/a' }, { name: 's/a/b' }], /both a file and a folder/],
    ['a folder, then a file', [{ name: 's/a/b' }, { name: 's/a' }], /both a file and a folder/],
  ])('%s', (_, parts, message) => expectRefused(unpack(parts), message));
});

describe('forms of ZIP', () => {
  const parts = [{ name: 's/a', content: 'hello' }];
  const hello = { s: ['a'] };
  test('with data descriptors', async () => {
    expect(await pathsOf([{ name: 's/a', content: 'hello', dataDescriptor: true }])).toEqual(hello);
  });
  test('zip64, of entries and of the end', async () => {
    const skills = await unpack([{ name: 's/a', content: 'hello', zip64: true }], { zip64: true });
    expect(skills[0]?.files.map(({ path }) => path)).toEqual(['a']);
  });
  test('with a comment, even one that looks like an end', async () => {
    const comment = Buffer.concat([Buffer.from('PK\x05\x06', 'latin1'), Buffer.alloc(40)]);
    expect((await unpack(parts, { comment }))[0]?.skillId).toBe('s');
  });
  test('with more extra in the local header than anyone expects', async () => {
    const localExtra = Buffer.alloc(2000);
    expect(await pathsOf([{ name: 's/a', content: 'hello', localExtra }])).toEqual(hello);
  });
  test('whose local header names another file is refused', () =>
    expectPartRefused({ name: 's/a', localName: 's/b', content: 'x' }, /other things/));
  test('whose list is longer than it says is refused', () =>
    expectRefused(unpack([{ name: 's/a' }, { name: 's/b' }], { entries: 1 }), /longer than it says/));
});

test('stopped in the middle, it leaves nothing', async () => {
  const archive = join(root, 'upload');
  await writeFile(archive, zipBytes([{ name: 's/a', content: 'x' }]));
  const stop = AbortSignal.abort(new Error('enough'));
  await expect(unpackSkills(archive, join(root, 'staging'), { archiveName: 'a', stop })).rejects.toThrow(
    'enough',
  );
  expect(await readdir(root)).toEqual(['upload']);
});
