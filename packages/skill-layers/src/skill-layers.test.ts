import { once } from 'node:events';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Directory, within } from '@secbox/workspace';
import { at, LayersFixture, userOf } from './testing/layers-fixture.js';

const skill = {
  'SKILL.md': '---\nname: 天气\ndescription: d\n---\n',
  'main.py': 'one\ntwo\nthree\n',
  'lib/a.py': 'a\n',
};
let now = new Date('2026-01-01T00:00:00Z');
let fixture: LayersFixture;
beforeEach(async () => {
  now = new Date('2026-01-01T00:00:00Z');
  fixture = await LayersFixture.make({ now: () => now });
  await fixture.upload('baseline', skill);
});
afterEach(() => fixture.remove());

const place = at('u1');
const author = at('author');
const code = (wanted: string) => expect.objectContaining({ code: wanted });
const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
const status = async (of = place) => (await fixture.layers.status(of)).status;
async function baselineNew(content: string): Promise<void> {
  now = new Date(now.getTime() + 1000);
  await fixture.layers.sync(author);
  await fixture.layers.editFile(author, 'main.py', content);
  await fixture.layers.baseline(author, 'author');
}

const changing = `
  const { mkdirSync, rmSync, writeFileSync } = require('node:fs');
  const { folder, times } = require('node:worker_threads').workerData;
  for (let n = 0; n < times; n += 1) {
    mkdirSync(folder);
    for (let file = 0; file < 20; file += 1) writeFileSync(folder + '/' + file, 'x');
    rmSync(folder, { recursive: true });
  }
`;

describe('a user', () => {
  test('is pinned at first touch, in one file, with nothing copied', async () => {
    await fixture.layers.list(place);
    expect((await readdir(join(fixture.root, 'skill/overlay/u1/agent'), { recursive: true })).sort()).toEqual(
      ['.meta', '.meta/last-use', '.meta/pins.json'],
    );
    await baselineNew('new');
    expect(await fixture.contents(place)).toEqual(skill);
    expect(await status()).toBe('OUT_OF_SYNC');
  });

  test('who is only looked at is shown as at first touch, and nothing is pinned, dated or made', async () => {
    const looked = { ...place, onlyLooks: true } as const;
    const inAll = () => readdir(fixture.root, { recursive: true });
    const looks = async () => [
      await fixture.contents(looked),
      (await fixture.layers.list(looked)).map(({ skillId, layer }) => [skillId, layer]),
      await status(looked),
      (await fixture.layers.diff(looked, 'pinned', 'mine')).files,
      await fixture.layers.withSandbox(looked, (folder) => readdir(folder).catch(codeOf)),
    ];
    const before = await inAll();
    const seen = [skill, [['weather', 'baseline']], 'UNCHANGED', []];
    expect(await looks()).toEqual([...seen, 'ENOENT']);
    expect(await inAll()).toEqual(before);
    await fixture.layers.withSandbox(place, () => Promise.resolve());
    await baselineNew('new');
    expect(await looks()).toEqual([skill, [['weather', 'baseline']], 'OUT_OF_SYNC', [], []]);
    now = new Date(now.getTime() + 48 * 3_600_000);
    await looks();
    expect((await fixture.layers.cleanUpIdle()).users).toContainEqual(userOf('u1'));
  });

  test('sees skills that come later as they are then', async () => {
    await fixture.layers.list(place);
    await fixture.upload('baseline', { x: 'x' }, at('author', 'later'));
    const listed = await fixture.layers.list(place);
    expect(listed).toMatchObject([
      { skillId: 'later', name: 'later', description: 'No description available.', status: 'UNCHANGED' },
      { skillId: 'weather', name: '天气', description: 'd', status: 'UNCHANGED', layer: 'baseline' },
    ]);
  });

  test('of an agent without skills leaves no trace by reading', async () => {
    expect(await fixture.layers.list(userOf('u1', 'other'))).toEqual([]);
    expect(await fixture.inRoot('skill/overlay')).toEqual([]);
  });

  test('has states by content', async () => {
    expect(await status()).toBe('UNCHANGED');
    await fixture.layers.editFile(place, 'main.py', 'mine');
    expect(await status()).toBe('MODIFIED');
    expect(await fixture.layers.list(place)).toMatchObject([{ layer: 'overlay', status: 'MODIFIED' }]);
    await fixture.layers.editFile(place, 'main.py', skill['main.py']);
    expect(await status()).toBe('UNCHANGED');
    await fixture.layers.editFile(at('u1', 'mine'), 'x', 'x');
    expect(await status(at('u1', 'mine'))).toBe('NEW');
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await baselineNew('theirs');
    expect(await fixture.layers.status(place)).toMatchObject({ status: 'OUT_OF_SYNC', modified: true });
    await expect(fixture.layers.status(at('u1', 'none'))).rejects.toEqual(code('skill_not_found'));
  });
});

describe('files', () => {
  test('are read whole and by lines', async () => {
    const lines = async (start?: number, end?: number) =>
      (await fixture.layers.readLines(place, 'main.py', { start, end })).lines;
    expect((await fixture.layers.readText(place, 'main.py')).text).toBe(skill['main.py']);
    expect(await lines(1, 2)).toEqual(['one', 'two']);
    expect(await lines(3)).toEqual(['three']);
    expect(await lines(undefined, 1)).toEqual(['one']);
    expect(await lines(9, 10)).toEqual([]);
    await expect(lines(0)).rejects.toEqual(code('invalid_request'));
    await expect(lines(2, 1)).rejects.toEqual(code('invalid_request'));
    await expect(lines(1.5)).rejects.toEqual(code('invalid_request'));
  });

  test('that are copied up are the only ones', async () => {
    const { generation, etag } = await fixture.layers.editFile(place, 'main.py', 'TWO', { start: 2, end: 2 });
    expect(await fixture.read('skill/overlay/u1/agent/weather', String(generation), 'main.py')).toBe(
      'one\nTWO\nthree\n',
    );
    expect(await fixture.inRoot('skill/overlay/u1/agent/weather', String(generation))).toEqual(['main.py']);
    expect((await fixture.layers.stat(place, 'main.py')).sha256).toBe(etag);
  });

  test('case 9: a stale edit is refused, and of two at once one wins', async () => {
    const { sha256: ifMatch } = await fixture.layers.stat(place, 'main.py');
    const edits = ['a', 'b'].map((text) =>
      fixture.layers.editFile(place, 'main.py', text.repeat(100), { ifMatch }),
    );
    const results = await Promise.allSettled(edits);
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect((await fixture.layers.readText(place, 'main.py')).text).toMatch(/^(a{100}|b{100})$/);
    await expect(fixture.layers.deleteFile(place, 'main.py', { ifMatch })).rejects.toEqual(
      code('file_changed'),
    );
    await expect(fixture.layers.editFile(place, 'new', '', { ifMatch: '*' })).rejects.toEqual(
      code('file_changed'),
    );
    await expect(fixture.layers.editFile(place, 'main.py', '', { ifAbsent: true })).rejects.toEqual(
      code('file_changed'),
    );
    await fixture.layers.editFile(place, 'new', '', { ifAbsent: true });
  });

  test('are made with their folders, moved, deleted, one or many', async () => {
    expect(await fixture.layers.editFile(place, 'x/y/z.txt', 'z')).toMatchObject({ created: true });
    await fixture.layers.moveFile(place, 'lib', 'x/lib');
    await fixture.layers.deleteFile(place, 'x/y');
    expect(Object.keys(await fixture.contents(place))).toEqual(['SKILL.md', 'main.py', 'x/lib/a.py']);
    await expect(fixture.layers.editFile(place, 'main.py/x', '')).rejects.toEqual(code('file_in_the_way'));
    await expect(fixture.layers.editFile(place, 'x/lib', '')).rejects.toEqual(code('file_in_the_way'));
    await expect(fixture.layers.moveFile(place, 'x', 'x/deeper')).rejects.toEqual(code('invalid_path'));
    await expect(fixture.layers.moveFile(place, 'main.py', 'SKILL.md')).rejects.toEqual(
      code('file_in_the_way'),
    );
    await expect(fixture.layers.deleteFile(place, 'lib')).rejects.toEqual(code('file_not_found'));
    await expect(fixture.layers.readText(place, 'x')).rejects.toEqual(code('invalid_path'));
  });

  test.each(['../x', '/etc/passwd', '%2e%2e%2fx', '..\\x', 'a\0b', 'x'.repeat(256), '', 'a//b'])(
    'cases 1 and 2: the path %j is refused everywhere',
    async (path) => {
      const { layers } = fixture;
      const calls = [
        () => layers.readText(place, path),
        () => layers.readLines(place, path, {}),
        () => layers.stat(place, path),
        () => layers.openFile(place, path),
        () => layers.editFile(place, path, 'x'),
        () => layers.writeFile(place, path, [Buffer.from('x')]),
        () => layers.deleteFile(place, path),
        () => layers.moveFile(place, path, 'x'),
        () => layers.moveFile(place, 'main.py', path),
      ];
      for (const call of calls) await expect(async () => call()).rejects.toEqual(code('invalid_path'));
      expect(await status()).toBe('UNCHANGED');
    },
  );

  test('case 3: a link that got into a layer is not followed', async () => {
    const { generation } = await fixture.layers.editFile(place, 'x', 'x');
    const path = join(fixture.root, 'skill/overlay/u1/agent/weather', String(generation), 'x');
    const { rm } = await import('node:fs/promises');
    await rm(path);
    await symlink('/etc/passwd', path);
    await expect(fixture.layers.readText(place, 'x')).rejects.toMatchObject({ code: 'ELOOP' });
  });

  test('SKILL.md is changed in the root only', async () => {
    await fixture.layers.editFile(place, 'SKILL.md', '# New');
    expect(await fixture.layers.list(place)).toMatchObject([{ name: 'New' }]);
    await expect(fixture.layers.editFile(place, 'lib/skill.md', '')).rejects.toEqual(
      code('skill_file_protected'),
    );
    await expect(fixture.layers.moveFile(place, 'SKILL.md', 'lib/SKILL.md')).rejects.toEqual(
      code('skill_file_protected'),
    );
  });

  test('that are no text are uploaded and opened as they are', async () => {
    const bytes = Buffer.from([0, 255, 1, 254]);
    await fixture.layers.writeFile(place, 'bin', [bytes.subarray(0, 2), bytes.subarray(2)], {
      executable: true,
    });
    const { handle, entry } = await fixture.layers.openFile(place, 'bin');
    expect(await handle.readFile()).toEqual(bytes);
    await handle.close();
    expect(entry).toMatchObject({ bytes: 4, executable: true });
    await expect(fixture.layers.readText(place, 'bin')).rejects.toEqual(code('file_not_text'));
    await expect(
      fixture.layers.writeFile(place, 'big', [Buffer.alloc(11)], { mostBytes: 10 }),
    ).rejects.toEqual(code('file_too_large'));
    expect(await fixture.inRoot('skill/.staging')).toEqual([]);
  });

  test('are searched', async () => {
    await fixture.layers.editFile(place, 'lib/b.txt', 'x\r\nsay TWO\r\n');
    const search = (text: string, more = {}) => fixture.layers.search(place, { text, ...more });
    expect(await search('two')).toEqual({
      matches: [{ path: 'main.py', line: 2, text: 'two' }],
      truncated: false,
    });
    expect((await search('two', { ignoreCase: true })).matches).toEqual([
      { path: 'lib/b.txt', line: 2, text: 'say TWO' },
      { path: 'main.py', line: 2, text: 'two' },
    ]);
    expect(await search('two', { ignoreCase: true, limit: 1 })).toMatchObject({ truncated: true });
    expect((await search('two', { folder: 'lib' })).matches).toEqual([]);
    await expect(search('')).rejects.toEqual(code('invalid_request'));
    await expect(search('x', { limit: 1e9 })).rejects.toEqual(code('invalid_request'));
  });
});

describe('uploads', () => {
  test('over a skill of the overlay are opaque', async () => {
    await fixture.layers.editFile(place, 'extra', 'x');
    await fixture.upload('overlay', { 'only.py': 'x' }, place);
    expect(await fixture.contents(place)).toEqual({ 'only.py': 'x' });
    expect(await status()).toBe('MODIFIED');
    await fixture.layers.editFile(place, 'more', 'm');
    expect(Object.keys(await fixture.contents(place))).toEqual(['more', 'only.py']);
  });

  test('that are bad change nothing and leave nothing', async () => {
    const archive = join(fixture.root, 'bad.zip');
    await writeFile(archive, 'no zip at all, but long enough to be one');
    await expect(
      fixture.layers.upload(place, archive, { archiveName: 'bad.zip', scope: 'overlay' }),
    ).rejects.toEqual(code('invalid_archive'));
    expect(await fixture.inRoot('skill/.staging')).toEqual([]);
    expect(await fixture.contents(place)).toEqual(skill);
  });

  test('of the same content are the same version', async () => {
    await fixture.upload('baseline', skill);
    expect(await fixture.layers.versions(author)).toHaveLength(1);
  });
});

describe('baselining', () => {
  test('makes a version, and others are out of sync at once', async () => {
    await fixture.layers.list(place);
    await baselineNew('new\n');
    expect(await status(author)).toBe('UNCHANGED');
    expect(await status()).toBe('OUT_OF_SYNC');
    expect(await fixture.layers.versions(place)).toMatchObject([
      { current: true, origin: 'baseline', created_by: 'author' },
      { current: false, origin: 'upload', parent: null },
    ]);
    expect(await fixture.contents(at('u3'))).toMatchObject({ 'main.py': 'new\n' });
  });

  test('from an outdated pin is a conflict, unless forced', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await baselineNew('theirs');
    await expect(fixture.layers.baseline(place, null)).rejects.toEqual(code('baseline_moved'));
    await fixture.layers.baseline(place, null, true);
    expect(await fixture.contents(at('u3'))).toMatchObject({ 'main.py': 'mine' });
  });

  test('syncing keeps what is mine and tells of each conflict', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await fixture.layers.editFile(place, 'new.py', 'mine too');
    await fixture.layers.editFile(author, 'lib/a.py', 'theirs');
    await baselineNew('theirs');
    const synced = await fixture.layers.sync(place);
    expect(synced.conflicts).toMatchObject([{ path: 'main.py', kind: 'changed' }]);
    expect(await fixture.contents(place)).toMatchObject({
      'main.py': 'mine',
      'new.py': 'mine too',
      'lib/a.py': 'theirs',
    });
    expect(await status()).toBe('MODIFIED');
    await fixture.layers.sync(place, { keep: 'theirs' });
    expect(await status()).toBe('UNCHANGED');
  });

  test('versions are compared and restored', async () => {
    const [first] = await fixture.layers.versions(place);
    const version = first?.version ?? '';
    await fixture.layers.editFile(place, 'main.py', 'TWO', { start: 2, end: 2 });
    await fixture.layers.writeFile(place, 'bin', [Buffer.from([0])]);
    const { files } = await fixture.layers.diff(place, 'current', 'mine');
    expect(files).toMatchObject([
      { path: 'bin', change: 'added', before: null, patch: null },
      {
        path: 'main.py',
        change: 'changed',
        patch: '--- a/main.py\n+++ b/main.py\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n',
      },
    ]);
    await baselineNew('new');
    expect((await fixture.layers.diff(place, { version }, 'current')).files).toMatchObject([
      { path: 'main.py' },
    ]);
    await fixture.layers.restoreVersion(place, version, 'author');
    expect(await fixture.contents(at('u3'))).toEqual(skill);
    await expect(fixture.layers.restoreVersion(place, 'f'.repeat(64), null)).rejects.toEqual(
      code('skill_version_not_found'),
    );
    await expect(fixture.layers.restoreVersion(place, '../..', null)).rejects.toEqual(
      code('skill_version_not_found'),
    );
  });

  test('versions that nobody needs are collected, the others stay', async () => {
    await fixture.layers.list(place);
    for (let n = 0; n < 3; n += 1) await baselineNew(`version ${n}`);
    expect(await fixture.layers.collectGarbage(0)).toMatchObject({ versions: 2 });
    expect(await fixture.contents(place)).toEqual(skill);
    expect(await fixture.layers.versions(place)).toHaveLength(2);
    expect(await fixture.inRoot('skill/baseline/agent/weather')).toHaveLength(3);
  });

  test('a version that somebody took over while garbage was about to be collected stays', async () => {
    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let gated = false;
    await fixture.reopen({
      ...fixture.options,
      onStep: async (step) => {
        if (gated && step === 'content') await gate;
      },
    });
    await fixture.layers.editFile(at('author'), 'main.py', 'next');
    gated = true;
    const others = [
      fixture.layers.editFile(at('u2'), 'main.py', 'holds the agent up'),
      fixture.layers.touch(at('late')),
      fixture.layers.baseline(at('author'), null),
    ];
    await new Promise((resolve) => setTimeout(resolve, 50));
    const collecting = fixture.layers.collectGarbage(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    goOn();
    await Promise.all([...others, collecting]);
    expect(await fixture.contents(at('late'))).toEqual(skill);
  });

  test('what is not ours among the folders holds nothing up', async () => {
    for (const path of ['baseline/no agent', 'baseline/agent/no skill', 'overlay/no user/agent']) {
      await mkdir(join(fixture.root, 'skill', path), { recursive: true });
    }
    for (let n = 0; n < 2; n += 1) await baselineNew(`version ${n}`);
    expect(await fixture.layers.collectGarbage(0)).toMatchObject({ versions: 2 });
    expect(await fixture.inRoot('skill/baseline')).toContain('no agent');
    expect(await fixture.layers.cleanUpIdle()).toMatchObject({ users: [] });
  });
});

describe('what is gone', () => {
  test('what is given up for the baseline is in the trash; without a baseline nothing is', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await fixture.layers.sync(place, { keep: 'theirs' });
    expect(await fixture.contents(place)).toEqual(skill);
    const [item] = await fixture.layers.trash(place);
    expect(item).toMatchObject({ skillId: 'weather', reason: 'synced' });
    await fixture.layers.restoreFromTrash(place, item?.id ?? '');
    expect(await fixture.contents(place)).toMatchObject({ 'main.py': 'mine' });
    const mine = at('u1', 'new');
    await fixture.layers.editFile(mine, 'x', 'x');
    await expect(fixture.layers.sync(mine, { keep: 'theirs' })).rejects.toEqual(
      code('skill_version_not_found'),
    );
    expect(await fixture.contents(mine)).toEqual({ x: 'x' });
  });

  test('a deleted skill stays deleted until it is synced, and its changes are in the trash', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await fixture.layers.deleteSkill(place);
    await expect(fixture.layers.files(place)).rejects.toEqual(code('skill_not_found'));
    expect(await fixture.layers.list(place)).toEqual([]);
    expect(await fixture.layers.status(place)).toMatchObject({ deleted: true });
    await fixture.reopen();
    expect(await fixture.layers.list(place)).toEqual([]);
    const [item] = await fixture.layers.trash(place);
    expect(item).toMatchObject({ kind: 'skill', skillId: 'weather', reason: 'deleted' });
    await expect(fixture.layers.restoreFromTrash(at('u2'), item?.id ?? '')).rejects.toEqual(
      code('trash_entry_not_found'),
    );
    await fixture.layers.restoreFromTrash(place, item?.id ?? '');
    expect(await fixture.contents(place)).toMatchObject({ 'main.py': 'mine', 'lib/a.py': 'a\n' });
    expect(await fixture.layers.trash(place)).toEqual([]);
  });

  test('idle users go after a day; what they made is kept for seven', async () => {
    const hours = (n: number) => (now = new Date(now.getTime() + n * 3_600_000));
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await fixture.layers.editFile(at('u1', 'new'), 'x', 'x');
    await fixture.layers.list(at('u2'));
    await mkdir(fixture.layers.sandboxOf(place), { recursive: true });
    await writeFile(join(fixture.layers.sandboxOf(place), 'f'), 'sandbox');
    hours(23);
    expect(await fixture.layers.cleanUpIdle()).toMatchObject({ users: [] });
    await fixture.layers.list(at('u2'));
    hours(2);
    expect(await fixture.layers.cleanUpIdle()).toEqual({
      users: [userOf('u1')],
      left: [userOf('u2')],
      trashed: 3,
      expired: 0,
    });
    expect(await fixture.inRoot('skill/overlay')).toEqual(['u2']);
    expect(await fixture.inRoot('sandbox')).toEqual([]);
    expect(await fixture.contents(place)).toEqual(skill);
    await baselineNew('moved on');
    await fixture.layers.collectGarbage(0);
    for (const { id } of await fixture.layers.trash(place)) await fixture.layers.restoreFromTrash(place, id);
    expect(await fixture.contents(place)).toMatchObject({ 'main.py': 'mine', 'lib/a.py': 'a\n' });
    expect(await fixture.contents(at('u1', 'new'))).toEqual({ x: 'x' });
    expect(await fixture.read('sandbox/u1/agent/f')).toBe('sandbox');
    await fixture.layers.deleteSkill(place);
    hours(24 * 7 + 1);
    expect(await fixture.layers.cleanUpIdle()).toMatchObject({ expired: 1 });
  });

  test('a user who comes back while being cleaned away finds the skills of the agent', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    now = new Date(now.getTime() + 25 * 3_600_000);
    let cleaning = false;
    let comesBack: Promise<string> | undefined;
    const onStep = () => {
      if (cleaning) comesBack ??= status();
      return Promise.resolve();
    };
    await fixture.reopen({ ...fixture.options, onStep });
    cleaning = true;
    expect(await fixture.layers.cleanUpIdle()).toMatchObject({ users: [userOf('u1')], trashed: 1 });
    expect(await comesBack).toBe('UNCHANGED');
  });

  test('restoring over something new is refused', async () => {
    await fixture.layers.editFile(place, 'main.py', 'mine');
    await fixture.layers.deleteSkill(place);
    await fixture.layers.editFile(place, 'x', 'x');
    const [item] = await fixture.layers.trash(place);
    await expect(fixture.layers.restoreFromTrash(place, item?.id ?? '')).rejects.toEqual(
      code('skill_exists'),
    );
  });
});

test('whoever is in a general sandbox holds nobody up, and keeps it', async () => {
  const hold = await fixture.layers.holdSandbox(at('u2'), 'call');
  await writeFile(join(fixture.layers.sandboxOf(at('u2')), 'f'), 'f');
  await fixture.layers.withSandbox(place, async (folder) => {
    expect(fixture.layers.sandboxStamp(place)).toBeDefined();
    await fixture.layers.editFile(place, 'main.py', 'by a writer of the same agent');
    now = new Date(now.getTime() + 48 * 3_600_000);
    expect(await fixture.layers.cleanUpIdle()).toMatchObject({ users: [] });
    await writeFile(join(folder, 'x'), 'x');
  });
  hold();
  now = new Date(now.getTime() + 48 * 3_600_000);
  await fixture.layers.cleanUpIdle();
  const [item] = (await fixture.layers.trash(at('u2'))).filter(({ kind }) => kind === 'sandbox');
  const again = await fixture.layers.holdSandbox(at('u2'));
  const restoring = () => fixture.layers.restoreFromTrash(at('u2'), item?.id ?? '');
  await expect(restoring()).rejects.toEqual(code('project_in_use'));
  again();
  const stamp = fixture.layers.sandboxStamp(at('u2'));
  await restoring();
  expect(fixture.layers.sandboxStamp(at('u2'))).not.toBe(stamp);
  expect(await fixture.read('sandbox/u2/agent/f')).toBe('f');
});

test('paths are far shorter than the system takes: a longer one is refused, and told of an exec', async () => {
  const deep = (folders: number) => Array.from({ length: folders }, () => 'd'.repeat(200));
  const longest = [...deep(14), 'f'.repeat(186)].join('/');
  expect(longest).toHaveLength(3_000);
  await expect(async () => fixture.layers.editFile(place, `${longest}f`, 'x')).rejects.toThrow(/3000 bytes/);
  await fixture.layers.editFile(place, longest, 'x');
  await fixture.layers.editFile(place, 'e/x', 'x');
  await expect(fixture.layers.moveFile(place, 'e', [...deep(14), 'f'.repeat(185)].join('/'))).rejects.toEqual(
    code('invalid_path'),
  );
  const effects = await fixture.exec(place, async (folder) => {
    await writeFile(join(folder, 'made'), 'x');
    let inner = Directory.open(folder);
    for (const name of deep(15)) {
      const outer = inner;
      inner = outer.makeDirectory(name, 0o755);
      outer.close();
    }
    await within(inner, (last) => last.writeFile('f', 0o644, 'x'));
  });
  const skipped = [{ path: deep(15).join('/'), kind: 'too_deep' }];
  expect(effects).toMatchObject({ kept: true, added: [{ path: 'made' }], skipped });
  await fixture.layers.baseline(place, null);
  await fixture.layers.deleteFile(place, longest);
  await fixture.layers.deleteSkill(place);
  expect(await fixture.layers.trash(place)).toHaveLength(1);
});

test('the global pack stays while an operator moves files in and out of it', async () => {
  const pack = join(fixture.root, 'skill-creator');
  await mkdir(pack);
  await writeFile(join(pack, 'SKILL.md'), '# Creator');
  const workerData = { folder: join(pack, 'lib'), times: 500 };
  const worker = new Worker(changing, { eval: true, workerData });
  const state = { over: false };
  const changed = once(worker, 'exit').finally(() => (state.over = true));
  while (!state.over) {
    const paths = (await fixture.layers.files(at('u1', 'skill-creator'))).map(({ path }) => path);
    expect(paths).toContain('SKILL.md');
    await setImmediate();
  }
  await changed;
});

test('the global pack stands before a skill of its name, for everybody', async () => {
  const creator = at('u1', 'skill-creator');
  await fixture.layers.editFile(creator, 'mine', 'mine');
  await mkdir(join(fixture.root, 'skill-creator/lib'), { recursive: true });
  await writeFile(join(fixture.root, 'skill-creator/SKILL.md'), '# Creator');
  await writeFile(join(fixture.root, 'skill-creator/lib/x'), 'x');
  await symlink('/etc/passwd', join(fixture.root, 'skill-creator/link'));
  expect(await fixture.contents(creator)).toEqual({ 'SKILL.md': '# Creator', 'lib/x': 'x' });
  expect(await fixture.layers.list(place)).toMatchObject([
    { skillId: 'skill-creator', name: 'Creator', layer: 'global' },
    { skillId: 'weather' },
  ]);
  await expect(fixture.upload('overlay', { x: 'x' }, creator)).rejects.toEqual(code('skill_read_only'));
  await expect(fixture.upload('baseline', { x: 'x' }, creator)).rejects.toEqual(code('skill_read_only'));
  expect((await stat(join(fixture.root, 'skill-creator/lib/x'))).nlink).toBe(1);
});
