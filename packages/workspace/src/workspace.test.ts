import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  defaultTenant,
  type ExecId,
  newExecId,
  parseProjectId,
  parseTenantId,
  type ProjectId,
} from '@secbox/contracts';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { sandboxOwner } from './owner.js';
import { createPathAdapter } from './path-adapter/path-adapter.js';
import { newSlotId } from './slot-id.js';
import type { ExecPlace } from './places.js';
import { Workspace } from './workspace.js';

jest.setTimeout(60_000);

// Only root can hand a folder over; whoever else runs this is the sandbox's user already.
const asRoot = process.getuid?.() === 0;
const theirUid = asRoot ? sandboxOwner.uid : process.getuid?.();

const project = parseProjectId('project-1');

const placeOf = (execId: ExecId, projectId: ProjectId = project): ExecPlace => ({
  tenant: defaultTenant,
  projectId,
  execId,
});

describe('Workspace', () => {
  let temporary: string;
  let root: string;
  let outside: string;
  let workspace: Workspace;

  const open = () =>
    Workspace.open({
      paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: root } }),
      ...(asRoot ? { owner: sandboxOwner } : {}),
    });

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'secbox-workspace-'));
    root = join(temporary, 'workspace');
    outside = join(temporary, 'outside');
    await mkdir(outside, { mode: 0o711 });
    workspace = await open();
  });

  afterEach(async () => {
    await rm(temporary, { recursive: true });
    expect(await openBelow(temporary)).toEqual([]);
  });

  const below = (...names: readonly string[]) => join(root, ...names);
  const modeOf = async (path: string) => (await lstat(path)).mode & 0o777;

  test('makes its root, for itself alone, and can be opened again', async () => {
    expect(workspace.root).toBe(root);
    expect((await readdir(root)).sort()).toEqual(['projects', 'removed', 'spool']);
    expect(await modeOf(root)).toBe(0o700);
    expect(await modeOf(below('spool'))).toBe(0o700);
    const execId = newExecId();
    const folders = workspace.prepare(placeOf(execId));
    await writeFile(join(folders.inputs, 'kept'), 'kept');
    expect((await open()).foldersOf(placeOf(execId))).toEqual(folders);
    expect(await readFile(join(folders.inputs, 'kept'), 'utf8')).toBe('kept');
  });

  test('is not made below a folder that is missing, such as a disk that is not mounted', async () => {
    root = join(temporary, 'missing', 'workspace');
    await expect(open()).rejects.toMatchObject({ code: 'invalid_setting' });
    expect(await readdir(temporary)).not.toContain('missing');
  });

  test('has folders of no project to try things out in, and removes them with all that is there', async () => {
    const { mounts, inputs, work, disk } = workspace.prepareSelfTest();
    expect({ mounts, inputs, work, disk }).toEqual({
      mounts: {
        inputs: below('self-test', 'inputs'),
        work: below('self-test', 'work'),
        artifacts: below('self-test', 'artifacts'),
      },
      inputs: below('self-test', 'inputs'),
      work: below('self-test', 'work'),
      disk: below('self-test', 'disk'),
    });
    await writeFile(join(work, 'left'), '');
    await workspace.removeSelfTest();
    await workspace.removeSelfTest();
    expect((await readdir(root)).sort()).toEqual(['projects', 'removed', 'spool']);
  });

  test('knows where the slots of waiting containers lie, each by an id of its own', () => {
    const slot = newSlotId();
    expect(newSlotId()).not.toBe(slot);
    expect(workspace.slotsRoot).toBe(below('slots'));
    expect(workspace.slotMounts(slot)).toEqual({
      inputs: below('slots', slot, 'inputs'),
      work: below('slots', slot, 'work'),
      artifacts: below('slots', slot, 'artifacts'),
    });
  });

  test('prepares the folders of an exec, and hands over those that programs write', async () => {
    const execId = newExecId();
    const folders = workspace.prepare(placeOf(execId));
    const home = below('projects', 'project-1');
    expect(folders).toEqual({
      mounts: {
        inputs: join(home, 'inputs'),
        work: join(home, 'work'),
        artifacts: join(home, 'artifacts', execId),
      },
      inputs: join(home, 'inputs'),
      work: join(home, 'work'),
      artifacts: join(home, 'artifacts', execId),
      disk: below('disks', 'project-1'),
      spool: below('spool', execId),
    });
    expect((await readdir(home)).sort()).toEqual(['artifacts', 'inputs', 'work']);
    expect(await modeOf(folders.spool)).toBe(0o700);
    for (const path of [folders.mounts.work, folders.mounts.artifacts]) {
      expect(await lstat(path)).toMatchObject({ uid: theirUid });
      expect(await modeOf(path)).toBe(0o755);
    }
    // A program that could write here could change inputs or other execs' artifacts by name.
    for (const path of [home, folders.inputs, dirname(folders.artifacts)]) {
      expect(await lstat(path)).toMatchObject({ uid: process.getuid?.() });
      expect(await modeOf(path)).toBe(0o755);
    }
  });

  test('prepares again without a change', async () => {
    const execId = newExecId();
    const folders = workspace.prepare(placeOf(execId));
    await writeFile(join(folders.mounts.work, 'file'), 'kept');
    expect(workspace.prepare(placeOf(execId))).toEqual(folders);
    expect(await readFile(join(folders.mounts.work, 'file'), 'utf8')).toBe('kept');
  });

  test('mends a work folder that a program made unusable', async () => {
    const { mounts } = workspace.prepare(placeOf(newExecId()));
    await writeFile(join(mounts.work, 'file'), 'kept');
    await chmod(mounts.work, 0o000);
    workspace.prepare(placeOf(newExecId()));
    expect(await modeOf(mounts.work)).toBe(0o755);
    expect(await readFile(join(mounts.work, 'file'), 'utf8')).toBe('kept');
  });

  test.each([
    ['different execs', () => newExecId()],
    ['one exec', (execId: ExecId) => execId],
  ])('fifty at once for one project: %s', async (_what, idFrom) => {
    const one = newExecId();
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { mounts, spool } = workspace.prepare(placeOf(idFrom(one)));
        // What is handed out is ready, whoever of the fifty made it.
        for (const path of [mounts.work, mounts.artifacts]) {
          expect(await lstat(path)).toMatchObject({ uid: theirUid });
          expect(await modeOf(path)).toBe(0o755);
        }
        expect(await readdir(mounts.inputs)).toEqual([]);
        expect(await readdir(spool)).toEqual([]);
      }),
    );
    expect(await readdir(below('projects'))).toEqual(['project-1']);
  });

  test.each(['a', '0', 'a..b', 'a.', 'user@host', 'A-_.@', 'x'.repeat(128)])(
    'the id %j is one folder',
    async (id) => {
      const { inputs } = workspace.prepare(placeOf(newExecId(), parseProjectId(id)));
      expect(dirname(dirname(inputs))).toBe(below('projects'));
      expect(await readdir(below('projects'))).toEqual([id]);
    },
  );

  // Their parsers refuse these first; should one ever slip through, it is still no path.
  test.each(['', '.', '..', 'a/b', '../outside', '/etc', 'a\\b', 'a:b', 'a\0b', 'a\nb', 'x'.repeat(256)])(
    'the id %j is refused and nothing is made (case 7)',
    async (id) => {
      const before = await readdir(temporary, { recursive: true });
      const refused = { code: 'invalid_path' };
      expect(() => workspace.foldersOf(placeOf(newExecId(), id as ProjectId))).toThrow(
        expect.objectContaining(refused),
      );
      expect(() => workspace.foldersOf(placeOf(id as ExecId))).toThrow(expect.objectContaining(refused));
      expect(() => workspace.prepare(placeOf(newExecId(), id as ProjectId))).toThrow(
        expect.objectContaining(refused),
      );
      expect(() => workspace.prepare(placeOf(id as ExecId))).toThrow(expect.objectContaining(refused));
      expect(await readdir(temporary, { recursive: true })).toEqual(before);
    },
  );

  test.each([
    ['projects', () => ['projects']],
    ['the project', () => ['projects', project]],
    ['inputs', () => ['projects', project, 'inputs']],
    ['work', () => ['projects', project, 'work']],
    ['artifacts', () => ['projects', project, 'artifacts']],
    ['the exec’s artifacts', (execId: ExecId) => ['projects', project, 'artifacts', execId]],
    ['spool', () => ['spool']],
    ['the exec’s spool', (execId: ExecId) => ['spool', execId]],
  ])('%s replaced by a link is refused, and nothing is made where it points (case 4)', async (_what, at) => {
    const execId = newExecId();
    workspace.prepare(placeOf(execId));
    const path = below(...at(execId));
    for (const target of [outside, join(outside, 'dangling')]) {
      await rename(path, `${path}.aside`);
      await symlink(target, path);
      expect(() => workspace.prepare(placeOf(execId))).toThrow(
        expect.objectContaining({
          code: expect.stringMatching(/^(ENOTDIR|ELOOP)$/),
        }),
      );
      await rm(path);
      await rename(`${path}.aside`, path);
    }
    expect(await readdir(outside)).toEqual([]);
    expect(await modeOf(outside)).toBe(0o711);
    expect(await lstat(outside)).toMatchObject({ uid: process.getuid?.() });
  });

  test('gives every tenant but the first a root of its own', async () => {
    const [one, other] = [newExecId(), newExecId()];
    workspace.prepare(placeOf(one));
    const folders = workspace.prepare({ ...placeOf(other), tenant: parseTenantId('acme') });
    const home = below('tenants', 'acme', 'projects', 'project-1');
    expect(folders).toMatchObject({
      mounts: { inputs: join(home, 'inputs'), work: join(home, 'work') },
      artifacts: join(home, 'artifacts', other),
    });
    await writeFile(join(folders.inputs, 'theirs'), 'theirs');
    expect(await readdir(below('projects', 'project-1', 'inputs'))).toEqual([]);
    expect(await readdir(below('projects', 'project-1', 'artifacts'))).toEqual([one]);
    expect(await workspace.inputsOf(placeOf(one)).list()).toEqual([]);
  });

  test('knows of which execs something waits on disk', async () => {
    const [one, other] = [newExecId(), newExecId()];
    for (const execId of [one, other])
      await workspace.writeSpooled(execId, 'note', 'text', { durable: true });
    expect((await workspace.spooled()).sort()).toEqual([one, other].sort());
    expect(await workspace.readSpooled(one, 'note')).toEqual(Buffer.from('text'));
    expect(await workspace.readSpooled(one, 'other')).toBeUndefined();
  });

  test('a file where a folder belongs is refused', async () => {
    await mkdir(below('projects', project));
    await writeFile(below('projects', project, 'work'), 'file');
    expect(() => workspace.prepare(placeOf(newExecId()))).toThrow(
      expect.objectContaining({ code: 'ENOTDIR' }),
    );
    expect(await readFile(below('projects', project, 'work'), 'utf8')).toBe('file');
  });

  test('removes one spool and no other, and one that is not there', async () => {
    const [one, other] = [newExecId(), newExecId()];
    const { spool } = workspace.prepare(placeOf(one));
    workspace.prepare(placeOf(other));
    await writeFile(join(spool, 'stdout.txt'), 'x');
    await workspace.removeSpool(one);
    await workspace.removeSpool(one);
    expect(await readdir(below('spool'))).toEqual([other]);
    await expect(workspace.removeSpool('..')).rejects.toMatchObject({ code: 'invalid_path' });
    expect(await readdir(below('spool'))).toEqual([other]);
  });
});

async function openBelow(path: string): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd');
  const targets = await Promise.all(
    descriptors.map((descriptor) => readlink(`/proc/self/fd/${descriptor}`).catch(() => '')),
  );
  return targets.filter((target) => target.startsWith(path));
}
