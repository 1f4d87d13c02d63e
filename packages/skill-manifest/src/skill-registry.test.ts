import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createLogger } from '@secbox/logging';
import type { PolicySettings } from '@secbox/policy';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { SkillRegistry, type SkillRegistryOptions } from './skill-registry.js';
import type { Skill } from './skill.js';

const scene = { folder: '', settings: undefined as PolicySettings | undefined };
const open = (more: Partial<SkillRegistryOptions> = {}) =>
  SkillRegistry.open({
    folder: scene.folder,
    images: ['sandbox'],
    limits: () => ({ engine: undefined, settings: scene.settings }),
    logger: createLogger({ level: 'error', format: 'json', destination: new PassThrough() }),
    ...more,
  });
let registry: SkillRegistry;

beforeEach(async () => {
  scene.folder = await mkdtemp(join(tmpdir(), 'skills-'));
  scene.settings = undefined;
});
afterEach(async () => {
  await registry.close();
  await rm(scene.folder, { recursive: true, force: true });
});

const manifestOf = (id: string, more: object = {}) => ({
  schema_version: 1,
  id,
  name: id,
  description: 'A skill.',
  interface: { inputs: { type: 'object' }, outputs: { type: 'string' } },
  runtime: { kind: 'docker', image: 'sandbox', entrypoint: ['bash', './run.sh'] },
  permissions: { fs: { read: [], write: ['work/**'] }, net: { mode: 'none' } },
  limits: { memory_mb: 256 },
  ...more,
});

async function put(path: string, content: string): Promise<void> {
  const full = join(scene.folder, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, content);
}
async function putSkill(id: string, more: object = {}): Promise<void> {
  await put(`${id}/run.sh`, 'echo hello\n');
  await put(`${id}/manifest.json`, JSON.stringify(manifestOf(id, more)));
}
const skill = (id: string): Skill | undefined => registry.snapshot.skills.get(id);
const messagesOf = (id: string) => {
  const found = skill(id);
  return found && !found.valid ? found.problems.map(({ file, message }) => `${file}: ${message}`) : undefined;
};
const changed = () =>
  new Promise<void>((resolve) => {
    const stop = registry.onChange(() => {
      stop();
      resolve();
    });
  });

describe('a registry', () => {
  test('lists every folder; one that is wrong disturbs no other', async () => {
    await putSkill('a.good');
    await putSkill('b.bad', { runtime: {} });
    await put('c.empty/notes.txt', '');
    await put('_schema/x.json', '{}');
    await put('.hidden/x', '');
    await put('README.md', '');
    await putSkill('other.name');
    await rename(join(scene.folder, 'other.name'), join(scene.folder, 'Not an id'));
    registry = await open();
    expect([...registry.snapshot.skills].map(([id, { valid }]) => [id, valid])).toEqual([
      ['Not an id', false],
      ['a.good', true],
      ['b.bad', false],
      ['c.empty', false],
    ]);
    expect(messagesOf('c.empty')).toEqual(['manifest.json: is missing; every skill has one']);
    expect(messagesOf('Not an id')).toEqual(['manifest.json: is not the name of the folder']);
  });

  test('follows no link, opens no pipe, and keeps within its limits', async () => {
    for (const id of ['a.link', 'b.pipe', 'c.large', 'd.many', 'e.deep', 'f.reserved', 'g.name'])
      await putSkill(id);
    await symlink('/etc/passwd', join(scene.folder, 'a.link/passwd'));
    await symlink(join(scene.folder, 'c.large'), join(scene.folder, 'z.link'));
    execFileSync('mkfifo', [join(scene.folder, 'b.pipe/pipe')]);
    await writeFile(join(scene.folder, 'c.large/big.bin'), Buffer.alloc(2 * 1024 ** 2 + 1));
    for (let index = 0; index < 210; index += 1) await put(`d.many/${index}.txt`, '');
    await put(`e.deep/${'a/'.repeat(12)}x`, '');
    await put('f.reserved/input.json', '{}');
    await put('g.name/a\nb', '');
    registry = await open();
    expect(messagesOf('a.link')).toEqual(['passwd: is a symbolic link; a skill holds files only']);
    expect(messagesOf('z.link')).toEqual([': is a symbolic link; a skill is a folder of its own']);
    expect(messagesOf('b.pipe')).toEqual(['pipe: is neither a file nor a folder']);
    expect(messagesOf('c.large')).toEqual(['big.bin: has more than 2097152 bytes']);
    expect(messagesOf('d.many')?.[0]).toContain('more than 200 files');
    expect(messagesOf('e.deep')?.[0]).toContain('folders deep');
    expect(messagesOf('f.reserved')?.[0]).toContain('input.json: has a name that an invocation needs');
    expect(messagesOf('g.name')?.[0]).toContain('control characters');
  });

  test('says when there are more than it reads, once', async () => {
    for (const id of ['a.good', 'b.good', 'c.good']) await putSkill(id);
    const destination = new PassThrough();
    const logger = createLogger({ level: 'warn', format: 'json', destination });
    registry = await open({ mostSkills: 1, logger });
    await registry.reload();
    expect(registry.snapshot.skills.size).toBe(1);
    const lines = String(destination.read()).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      expect.objectContaining({ event: 'skills.too_many', most: 1, left_out: 2 }),
    ]);
  });

  test('holds so many bytes of files; what would be more is listed, and offered once there is room', async () => {
    const told = ': would make the files of all skills more than 6000 bytes';
    for (const id of ['a.large', 'b.large']) {
      await putSkill(id);
      await put(`${id}/data.txt`, 'x'.repeat(4000));
    }
    registry = await open({ mostBytes: 6000, pollMs: 3_600_000 });
    expect(skill('a.large')?.valid).toBe(true);
    expect(messagesOf('b.large')).toEqual([told]);
    expect(skill('b.large')?.files).toEqual([]);
    await registry.reload();
    expect(messagesOf('b.large')).toEqual([told]);
    await put('a.large/data.txt', '');
    await registry.reload();
    await registry.reload();
    expect([skill('a.large')?.valid, skill('b.large')?.valid]).toEqual([true, true]);
    await rm(join(scene.folder, 'b.large'), { recursive: true });
    await put('a.large/data.txt', 'x'.repeat(5000));
    await registry.reload(['b.large', 'a.large']);
    expect([skill('a.large')?.valid, skill('b.large')]).toEqual([true, undefined]);
  });

  test('hears of changes also in a folder that came in the place of another', async () => {
    await putSkill('a.good');
    await put('_next/run.sh', 'echo next\n');
    await put('_next/manifest.json', JSON.stringify(manifestOf('a.good')));
    registry = await open({ pollMs: 3_600_000 });
    const first = skill('a.good')?.digest;
    const swapped = changed();
    await rename(join(scene.folder, 'a.good'), join(scene.folder, '_last'));
    await rename(join(scene.folder, '_next'), join(scene.folder, 'a.good'));
    await swapped;
    const second = skill('a.good')?.digest;
    expect(second).not.toBe(first);
    const edited = changed();
    await put('a.good/run.sh', 'echo edited\n');
    await edited;
    expect(skill('a.good')).toMatchObject({ valid: true });
    expect(skill('a.good')?.digest).not.toBe(second);
  });

  test('gives what was taken, whatever happens to the folder', async () => {
    await putSkill('a.good');
    registry = await open();
    const before = registry.snapshot;
    const taken = skill('a.good');
    const news = changed();
    await put('a.good/run.sh', 'echo other\n');
    await news;
    expect(taken?.files.map(({ path, content }) => [path, content.toString()])).toContainEqual([
      'run.sh',
      'echo hello\n',
    ]);
    expect(before.skills.get('a.good')).toBe(taken);
    expect(skill('a.good')?.digest).not.toBe(taken?.digest);
    expect(Object.isFrozen(taken)).toBe(true);
  });

  test('hears of folders that come, change, break, are mended and go', async () => {
    registry = await open({ pollMs: 3_600_000 });
    expect(registry.snapshot.skills.size).toBe(0);
    const steps: [() => Promise<unknown>, (found: Skill | undefined) => boolean][] = [
      [() => putSkill('a.new'), (found) => found?.valid === true],
      [() => put('a.new/manifest.json', '{'), (found) => found?.valid === false],
      [() => putSkill('a.new'), (found) => found?.valid === true],
      [() => put('a.new/lib/deep/x.py', 'x'), (found) => found?.files.length === 3],
      [
        () => put('a.new/lib/deep/x.py', 'xyz'),
        (found) => found?.files.some(({ content }) => content.length === 3) === true,
      ],
      [() => rm(join(scene.folder, 'a.new'), { recursive: true }), (found) => found === undefined],
    ];
    for (const [change, holds] of steps) {
      const waiting = (async () => {
        while (!holds(skill('a.new'))) await changed();
      })();
      await change();
      await waiting;
    }
  });

  test('finds by its poll what it was not told of, and a folder that comes late', async () => {
    await rm(scene.folder, { recursive: true });
    registry = await open({ pollMs: 30 });
    const news = changed();
    await putSkill('a.late');
    await news;
    while (skill('a.late')?.valid !== true) await changed();
  });

  test('tells nobody when nothing changed', async () => {
    await putSkill('a.good');
    registry = await open();
    const { revision } = registry.snapshot;
    const taken = skill('a.good');
    await registry.reload();
    await registry.reload(['a.good']);
    registry.recheck();
    expect(registry.snapshot.revision).toBe(revision);
    expect(skill('a.good')).toBe(taken);
  });

  test('asks Settings again when they change (case 51)', async () => {
    await putSkill('a.large', { limits: { memory_mb: 2048 } });
    await putSkill('b.small');
    registry = await open();
    expect(skill('a.large')?.valid).toBe(true);
    scene.settings = { version: 1, values: {}, ceilings: { memory_mb: 1024 } };
    const news = changed();
    registry.recheck();
    await news;
    expect(messagesOf('a.large')?.[0]).toContain("at most 1024 (the Settings' ceiling)");
    expect(skill('b.small')?.valid).toBe(true);
    scene.settings = undefined;
    registry.recheck();
    expect(skill('a.large')?.valid).toBe(true);
  });

  test('has a digest of paths, modes and contents', async () => {
    await putSkill('a.one');
    registry = await open();
    const digests = [skill('a.one')?.digest];
    const next = async (change: () => Promise<void>) => {
      await change();
      await registry.reload(['a.one']);
      digests.push(skill('a.one')?.digest);
    };
    await next(() => chmod(join(scene.folder, 'a.one/run.sh'), 0o755));
    await next(() => put('a.one/extra', ''));
    await next(() => rename(join(scene.folder, 'a.one/extra'), join(scene.folder, 'a.one/extra2')));
    await next(() => put('a.one/extra2', 'x'));
    expect(new Set(digests).size).toBe(5);
    await next(() => rm(join(scene.folder, 'a.one/extra2')));
    await next(() => chmod(join(scene.folder, 'a.one/run.sh'), 0o644));
    expect(digests.at(-1)).toBe(digests[0]);
  });

  test('leaves out for a program what is for people and tests', async () => {
    await putSkill('a.one');
    await put('a.one/README.md', '#');
    await put('a.one/tests/cases.json', '[]');
    await put('a.one/lib/README.md', '#');
    registry = await open();
    const found = skill('a.one');
    expect(found?.valid && found.programFiles.map(({ path }) => path)).toEqual(['lib/README.md', 'run.sh']);
    expect(found?.valid && found.writesWork).toBe(true);
  });
});
