import { execFileSync } from 'node:child_process';
import {
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import type { HostMounts } from './exec/exec-road.js';
import { at, LayersFixture } from './testing/layers-fixture.js';
import { canMount } from './testing/program-mounts.js';

const skill = { 'SKILL.md': '# W\n', 'main.py': 'print(1)\n', 'lib/a.py': 'a\n', 'lib/b.py': 'b\n' };
const place = at('u1');

/** What an exec does to a skill, whichever way it is given it. */
export function describeExecs(road: 'overlay' | 'copy', mounts?: HostMounts): void {
  describe(`execs: ${road}`, () => {
    let fixture: LayersFixture;
    beforeEach(async () => {
      fixture = await LayersFixture.make(mounts ? { mounts } : {});
      await fixture.upload('baseline', skill);
    });
    afterEach(() => fixture.remove());
    const contents = () => fixture.contents(place);

    test('see the merged view, and what they change is only that user’s', async () => {
      await fixture.layers.editFile(place, 'main.py', 'print(2)\n');
      const effects = await fixture.exec(place, async (folder) => {
        expect(await readFile(join(folder, 'main.py'), 'utf8')).toBe('print(2)\n');
        await writeFile(join(folder, 'out.txt'), 'out');
        await writeFile(join(folder, 'lib/a.py'), 'changed\n');
        await rm(join(folder, 'lib/b.py'));
      });
      expect(effects).toMatchObject({
        kept: true,
        added: [{ path: 'out.txt', bytes: 3 }],
        changed: [{ path: 'lib/a.py' }],
        deleted: [{ path: 'lib/b.py' }],
        conflicts: [],
        skipped: [],
      });
      expect(await contents()).toEqual({
        'SKILL.md': '# W\n',
        'main.py': 'print(2)\n',
        'lib/a.py': 'changed\n',
        'out.txt': 'out',
      });
      expect(await fixture.contents(at('u2'))).toEqual(skill);
      expect(await fixture.inRoot('skill', '.execs')).toEqual([]);
    });

    test('tell where they began from, which can be asked before', async () => {
      const begin = async () => {
        const execId = newExecId();
        const before = await fixture.layers.identify(place);
        const begun = await fixture.layers.beginExec(place, execId);
        expect(begun).toMatchObject(before);
        await fixture.layers.abandonExec(execId);
        return begun;
      };
      const [version] = await fixture.layers.versions(place);
      expect(await begin()).toMatchObject({
        road,
        skill_version: version?.version,
        skill_source: 'baseline',
      });
      const { generation } = await fixture.layers.editFile(place, 'main.py', 'x');
      expect((await begin()).skill_source).toBe(`overlay:${generation}`);
    });

    test('what was deleted does not come back, also when its folder is made anew', async () => {
      await fixture.exec(place, async (folder) => {
        await rm(join(folder, 'lib'), { recursive: true });
        await mkdir(join(folder, 'lib'));
        await writeFile(join(folder, 'lib/c.py'), 'c');
      });
      expect(Object.keys(await contents())).toEqual(['SKILL.md', 'lib/c.py', 'main.py']);
      await fixture.exec(place, async (folder) => {
        execFileSync('test', ['!', '-e', join(folder, 'lib/a.py')]);
        await rm(join(folder, 'lib/c.py'));
      });
      await fixture.exec(place, (folder) => writeFile(join(folder, 'lib/still-there'), ''));
      expect(Object.keys(await contents())).toEqual(['SKILL.md', 'lib/still-there', 'main.py']);
    });

    test('files become folders, and folders files', async () => {
      await fixture.exec(place, async (folder) => {
        await rm(join(folder, 'main.py'));
        await mkdir(join(folder, 'main.py'));
        await writeFile(join(folder, 'main.py/x'), 'x');
        await rm(join(folder, 'lib'), { recursive: true });
        await writeFile(join(folder, 'lib'), 'file');
      });
      expect(await contents()).toEqual({ 'SKILL.md': '# W\n', 'main.py/x': 'x', lib: 'file' });
    });

    test('folders of the baseline that are moved are moved', async () => {
      await fixture.exec(place, (folder) =>
        Promise.resolve(execFileSync('mv', [join(folder, 'lib'), join(folder, 'src')])),
      );
      expect(Object.keys(await contents())).toEqual(['SKILL.md', 'main.py', 'src/a.py', 'src/b.py']);
    });

    test('empty folders stay for the next', async () => {
      await fixture.exec(place, (folder) => mkdir(join(folder, 'out/deep'), { recursive: true }));
      await fixture.exec(place, (folder) => writeFile(join(folder, 'out/deep/x'), 'x'));
      expect((await contents())['out/deep/x']).toBe('x');
    });

    test('a change of mode alone is a change, a touch is none', async () => {
      const touched = await fixture.exec(place, (folder) => writeFile(join(folder, 'main.py'), 'print(1)\n'));
      expect(touched).toMatchObject({ added: [], changed: [], deleted: [] });
      expect((await fixture.layers.status(place)).status).toBe('UNCHANGED');
      const made = await fixture.exec(place, (folder) => chmod(join(folder, 'main.py'), 0o4777));
      expect(made.changed).toMatchObject([{ path: 'main.py' }]);
      expect((await fixture.layers.stat(place, 'main.py')).executable).toBe(true);
    });

    test('links, pipes and names of nothing are told and not kept', async () => {
      const effects = await fixture.exec(place, async (folder) => {
        await symlink('/etc/passwd', join(folder, 'link'));
        await rm(join(folder, 'main.py'));
        await symlink('/etc/passwd', join(folder, 'main.py'));
        await rm(join(folder, 'lib'), { recursive: true });
        await symlink('/etc', join(folder, 'lib'));
        execFileSync('mkfifo', [join(folder, 'pipe')]);
        await writeFile(Buffer.concat([Buffer.from(join(folder, 'bad-')), Buffer.from([0xff])]), 'x');
        await writeFile(join(folder, 'back\\slash'), 'x');
        await writeFile(join(folder, 'kept'), 'x');
      });
      expect(effects.skipped.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
        'fifo pipe',
        'name back\\slash',
        'name bad-\xff',
        'symlink lib',
        'symlink link',
        'symlink main.py',
      ]);
      expect(await contents()).toEqual({ 'SKILL.md': '# W\n', kept: 'x' });
    });

    test('a SKILL.md that a program makes or changes below the root is told and not kept', async () => {
      await fixture.upload('overlay', { ...skill, 'old/SKILL.md': 'old', 'gone/skill.md': 'x' }, place);
      const effects = await fixture.exec(place, async (folder) => {
        await writeFile(join(folder, 'SKILL.md'), '# New\n');
        await writeFile(join(folder, 'old/SKILL.md'), 'new');
        await writeFile(join(folder, 'lib/SKILL.md'), 'made');
        await writeFile(join(folder, 'lib/skill.MD'), 'made');
        await rm(join(folder, 'gone/skill.md'));
      });
      expect(effects.skipped.map(({ path, kind }) => `${kind} ${path}`).sort()).toEqual([
        'protected lib/SKILL.md',
        'protected lib/skill.MD',
        'protected old/SKILL.md',
      ]);
      expect(effects).toMatchObject({ added: [], changed: [{ path: 'SKILL.md' }], kept: true });
      expect(await contents()).toEqual({ ...skill, 'SKILL.md': '# New\n', 'old/SKILL.md': 'old' });
      const same = await fixture.exec(place, (folder) => writeFile(join(folder, 'old/SKILL.md'), 'old'));
      expect(same).toMatchObject({ changed: [], skipped: [] });
      const moved = await fixture.exec(place, (cwd) =>
        Promise.resolve(execFileSync('mv', ['old', 'moved'], { cwd })),
      );
      expect(moved).toMatchObject({ added: [{ path: 'moved/SKILL.md' }], skipped: [] });
      expect(await contents()).toMatchObject({ 'moved/SKILL.md': 'old' });
    });

    test('modes that shut us out, holes and hard links do no harm', async () => {
      const effects = await fixture.exec(place, async (folder) => {
        await writeFile(join(folder, 'one'), 'same');
        await link(join(folder, 'one'), join(folder, 'two'));
        await mkdir(join(folder, 'shut'));
        await writeFile(join(folder, 'shut/x'), 'x');
        await chmod(join(folder, 'shut/x'), 0);
        await chmod(join(folder, 'shut'), 0);
        await truncate(join(folder, 'main.py'), 1024 ** 4);
      });
      expect(effects.skipped).toEqual([{ path: 'main.py', kind: 'too_large' }]);
      expect(await contents()).toEqual({ ...skill, one: 'same', two: 'same', 'shut/x': 'x' });
    });

    test('two at once both work; what both changed lies beside', async () => {
      const [one, two] = [newExecId(), newExecId()];
      const first = await fixture.layers.beginExec(place, one);
      const second = await fixture.layers.beginExec(place, two);
      await writeFile(join(first.target, 'main.py'), 'one');
      await writeFile(join(first.target, 'only-one'), '1');
      await writeFile(join(second.target, 'main.py'), 'two');
      await rm(join(second.target, 'lib/a.py'));
      expect((await fixture.layers.commitExec(one)).conflicts).toEqual([]);
      const beside = `main.py.conflict-${two.slice(0, 8)}`;
      expect((await fixture.layers.commitExec(two)).conflicts).toMatchObject([
        { path: 'main.py', kind: 'changed', kept_as: beside },
      ]);
      expect(await contents()).toEqual({
        'SKILL.md': '# W\n',
        'main.py': 'one',
        'only-one': '1',
        'lib/b.py': 'b\n',
        [beside]: 'two',
      });
    });

    test('what an exec began from is frozen until it ends', async () => {
      await fixture.layers.editFile(place, 'main.py', 'before');
      const execId = newExecId();
      const { target } = await fixture.layers.beginExec(place, execId);
      for (let n = 0; n < 3; n += 1) await fixture.layers.editFile(place, 'main.py', `edit ${n}`);
      await fixture.layers.deleteFile(place, 'lib');
      await fixture.layers.collectGarbage(0);
      expect(await readFile(join(target, 'main.py'), 'utf8')).toBe('before');
      expect(await readFile(join(target, 'lib/a.py'), 'utf8')).toBe('a\n');
      await writeFile(join(target, 'out'), 'x');
      expect((await fixture.layers.commitExec(execId)).conflicts).toEqual([]);
      expect(await contents()).toEqual({ 'SKILL.md': '# W\n', 'main.py': 'edit 2', out: 'x' });
      await fixture.layers.close();
      expect(await fixture.inRoot('skill/overlay/u1/agent/weather')).toHaveLength(1);
    });

    test('a version that an exec uses outlives its baseline', async () => {
      const execId = newExecId();
      const { target } = await fixture.layers.beginExec(place, execId);
      await fixture.layers.editFile(at('author'), 'main.py', 'new');
      await fixture.layers.baseline(at('author'), null);
      await fixture.layers.sync(place);
      await fixture.layers.collectGarbage(0);
      expect(await readFile(join(target, 'main.py'), 'utf8')).toBe('print(1)\n');
      await fixture.layers.abandonExec(execId);
      expect(await fixture.layers.collectGarbage(0)).toMatchObject({ versions: 1 });
    });

    test('an exec of a skill that was deleted meanwhile brings back only what it changed', async () => {
      const execId = newExecId();
      const { target } = await fixture.layers.beginExec(place, execId);
      await fixture.layers.deleteSkill(place);
      await writeFile(join(target, 'main.py'), 'changed');
      expect((await fixture.layers.commitExec(execId)).conflicts).toMatchObject([{ kind: 'restored' }]);
      expect(await contents()).toEqual({ 'main.py': 'changed' });
    });

    test('too many files are not kept, and told', async () => {
      await fixture.reopen({ ...fixture.options, execLimits: { entries: 20, bytes: 1e6, skillBytes: 1e6 } });
      const effects = await fixture.exec(place, async (folder) => {
        for (let n = 0; n < 30; n += 1) await writeFile(join(folder, `f${n}`), '');
      });
      expect(effects).toMatchObject({ kept: false, added: [], reason: expect.stringMatching(/too many/) });
      expect(await contents()).toEqual(skill);
    });

    test('what is in many files is read as often, and counts so; a file with many names is read once', async () => {
      const execLimits = { entries: 20, bytes: 1e6, skillBytes: 1e7 };
      await fixture.reopen({ ...fixture.options, execLimits });
      const holes = await fixture.exec(place, async (folder) => {
        for (const name of ['one', 'two', 'three']) {
          await writeFile(join(folder, name), '');
          await truncate(join(folder, name), 600_000);
        }
      });
      expect(holes.added).toHaveLength(1);
      expect(holes.skipped).toMatchObject([{ kind: 'too_large' }, { kind: 'too_large' }]);
      const names = await fixture.exec(place, async (folder) => {
        await mkdir(join(folder, 'links'));
        await truncate(join(folder, 'main.py'), 700_000);
        for (const name of ['one', 'two', 'three']) {
          await link(join(folder, 'main.py'), join(folder, 'links', name));
        }
      });
      expect(names).toMatchObject({ kept: true, skipped: [], added: { length: 3 }, changed: { length: 1 } });
    });

    test('when looking through what was left takes too long, nothing of it is kept', async () => {
      const execId = newExecId();
      const { target } = await fixture.layers.beginExec(place, execId);
      await writeFile(join(target, 'x'), 'x');
      const effects = await fixture.layers.commitExec(execId, { stop: AbortSignal.abort() });
      expect(effects).toMatchObject({ kept: false, added: [], reason: expect.stringMatching(/too long/) });
      expect(await contents()).toEqual(skill);
      expect(await fixture.inRoot('skill', '.execs')).toEqual([]);
    });

    test('a skill that would become too large stays as it was, and what was done is told', async () => {
      const execLimits = { entries: 20, bytes: 1e6, skillBytes: 1500 };
      await fixture.reopen({ ...fixture.options, execLimits });
      const grow = (name: string) =>
        fixture.exec(place, (folder) => writeFile(join(folder, name), 'x'.repeat(900)));
      expect(await grow('one')).toMatchObject({ kept: true });
      const more = await grow('two');
      expect(more).toMatchObject({ kept: false, added: [{ path: 'two' }], reason: expect.any(String) });
      expect(Object.keys(await contents())).not.toContain('two');
      expect(await fixture.exec(place, (folder) => rm(join(folder, 'one')))).toMatchObject({ kept: true });
    });

    test('what they write lies in the room they are given, which is gone afterwards', async () => {
      const [execId, abandoned] = [newExecId(), newExecId()];
      for (const id of [execId, abandoned]) {
        const { target } = await fixture.layers.beginExec(place, id, {
          room: join(fixture.root, `room-${id}`),
        });
        await writeFile(join(target, 'x'), id);
        const inRoom = await readdir(join(fixture.root, `room-${id}`), { recursive: true });
        expect(inRoom.filter((path) => path.endsWith('/x'))).toHaveLength(1);
      }
      expect(await fixture.layers.commitExec(execId)).toMatchObject({ kept: true, added: [{ path: 'x' }] });
      await fixture.layers.abandonExec(abandoned);
      expect((await contents())['x']).toBe(execId);
      expect((await fixture.inRoot()).filter((name) => name.startsWith('room'))).toEqual([]);
    });

    test('a copy is made where that is asked for', async () => {
      const execId = newExecId();
      const begun = await fixture.layers.beginExec(place, execId, { road: 'copy' });
      expect(begun.road).toBe('copy');
      await rm(join(begun.target, 'main.py'));
      expect(await fixture.layers.commitExec(execId)).toMatchObject({ deleted: [{ path: 'main.py' }] });
    });

    test('the global pack is seen, and stays as it is', async () => {
      const pack = join(fixture.root, 'skill-creator');
      await mkdir(pack);
      await writeFile(join(pack, 'SKILL.md'), '---\nname: creator\n---\n');
      await writeFile(join(pack, 'make.py'), 'make');
      const creator = at('u1', 'skill-creator');
      const effects = await fixture.exec(creator, (folder) =>
        rename(join(folder, 'make.py'), join(folder, 'x')),
      );
      expect(effects).toMatchObject({ kept: false, added: [{ path: 'x' }], deleted: [{ path: 'make.py' }] });
      expect(await fixture.contents(creator)).toMatchObject({ 'make.py': 'make' });
      await expect(fixture.layers.editFile(creator, 'x', '')).rejects.toMatchObject({
        code: 'skill_read_only',
      });
    });

    test('what a killed server left is cleared away', async () => {
      const { target } = await fixture.layers.beginExec(place, newExecId());
      await writeFile(join(target, 'x'), 'x');
      await fixture.reopen();
      expect(await fixture.inRoot('skill', '.execs')).toEqual([]);
      expect(await contents()).toEqual(skill);
    });

    test('an overlay is laid where it is wanted, and is gone afterwards', async () => {
      const wanted = join(fixture.root, 'slot');
      await mkdir(wanted);
      const execId = newExecId();
      const { target } = await fixture.layers.beginExec(place, execId, { wanted });
      expect(target === wanted).toBe(road === 'overlay');
      await writeFile(join(target, 'x'), 'x');
      await fixture.layers.commitExec(execId);
      expect((await contents())['x']).toBe('x');
      expect(await fixture.inRoot('slot')).toEqual([]);
    });

    (canMount ? test : test.skip)('the sandbox user may change all there is, as root on Linux', async () => {
      await fixture.reopen({ ...fixture.options, owner: { uid: 1000, gid: 1000 } });
      await fixture.upload('baseline', { ...skill, 'lib/c.py': 'c\n' });
      await fixture.upload('overlay', skill, at('u2'));
      await fixture.layers.editFile(place, 'lib/mine.py', 'mine');
      await chmod(fixture.root, 0o755);
      const script =
        'echo 2 >>main.py && rm lib/a.py && echo n >lib/n && mkdir d && mv lib/b.py d && test -O lib';
      for (const who of [place, at('u2')]) {
        const effects = await fixture.exec(who, (cwd) =>
          Promise.resolve(execFileSync('sh', ['-c', script], { cwd, uid: 1000, gid: 1000 })),
        );
        expect(effects.added.map(({ path }) => path)).toEqual(['d/b.py', 'lib/n']);
        expect(effects.deleted.map(({ path }) => path)).toEqual(['lib/a.py', 'lib/b.py']);
        await fixture.exec(who, (cwd) =>
          Promise.resolve(
            execFileSync('sh', ['-c', 'echo 3 >>main.py; rm -r lib'], { cwd, uid: 1000, gid: 1000 }),
          ),
        );
        expect((await fixture.contents(who))['main.py']).toBe('print(1)\n2\n3\n');
      }
    });

    test('a skill with nothing in it can still be run in', async () => {
      await fixture.layers.editFile(at('u1', 'new'), 'x', 'x');
      await fixture.layers.deleteFile(at('u1', 'new'), 'x');
      await fixture.exec(at('u1', 'new'), (folder) => writeFile(join(folder, 'y'), 'y'));
      expect(await fixture.contents(at('u1', 'new'))).toEqual({ y: 'y' });
    });
  });
}
