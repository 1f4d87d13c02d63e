import { readFileSync } from 'node:fs';
import { mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  DockerodeEngine,
  defaultDockerHost,
  parseDockerHost,
  type ContainerEngine,
} from '@secbox/container-engine';
import { openHostMounts, openSlots, type HostMounts, type Slots } from '@secbox/host-mounts';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, sandboxOwner, Workspace } from '@secbox/workspace';
import { proveSlots, type SlotsProof } from './prove-slots.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const seccompProfile = readFileSync(new URL('../../../../docker/seccomp.json', import.meta.url), 'utf8');
const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const engine = new DockerodeEngine(parseDockerHost(env['DOCKER_HOST'] ?? defaultDockerHost), {
  seccompProfile,
});

let dataDir: string;
let workspace: Workspace;
let mounts: HostMounts;
let slots: Slots;
beforeEach(async () => {
  dataDir = await realpath(await mkdtemp(join(tmpdir(), 'secbox slots-')));
  workspace = await Workspace.open({
    paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } }),
    owner: sandboxOwner,
  });
  const roots = { sources: [workspace.root], targets: [workspace.slotsRoot] };
  const opened = await openHostMounts({ program: env['SECBOX_MOUNTS_PROGRAM'], roots, logger });
  if (!opened.available) throw new Error(opened.reason);
  mounts = opened.mounts;
  slots = await openSlots({ mounts, root: workspace.slotsRoot, logger });
});
afterEach(async () => {
  await slots.close();
  expect(await mounts.list()).toEqual([]);
  await mounts.close();
  expect((await readdir(workspace.root)).sort()).toEqual(['projects', 'removed', 'slots', 'spool']);
  expect(await readdir(workspace.slotsRoot)).toEqual([]);
  expect(await engine.listOwned(dataDir)).toEqual([]);
  await rm(dataDir, { recursive: true });
});

const prove = (changes: Partial<SlotsProof> = {}) =>
  proveSlots({
    engine,
    workspace,
    slots,
    imageReference: 'secbox/sandbox:latest',
    runtime: 'runc',
    dataDir,
    ...changes,
  });

/** The real engine, but for how it makes a container. */
function creating(create: ContainerEngine['create']): Partial<SlotsProof> {
  return {
    engine: {
      create,
      findImage: (reference) => engine.findImage(reference),
      attach: (id) => engine.attach(id),
      start: (id) => engine.start(id),
      remove: (id) => engine.remove(id),
    },
  };
}

whereFoldersAreMounted('slots', () => {
  test('are proved from inside a container of this engine', async () => {
    expect(await prove()).toEqual({ works: true });
    expect(await Promise.all([prove()])).toEqual([{ works: true }]);
  });

  test('do not work where mounts of the host do not reach a container', async () => {
    const closed = creating((spec) => engine.create({ ...spec, mountPropagation: 'rprivate' }));
    expect(await prove(closed)).toEqual({
      works: false,
      reason: 'when it is filled a container finds "unseen"',
    });
  });

  test('do not work where inputs can be written', async () => {
    const { mounts: sources } = workspace.prepareSelfTest('self-test-slots');
    const make: Slots['make'] = async (id) => {
      const slot = await slots.make(id);
      slot.fill = async () => {
        for (const name of ['inputs', 'work', 'artifacts'] as const)
          await mounts.bind({ source: sources[name], target: slot[name], readOnly: false });
      };
      // As an engine would whose user may write there.
      await writeFile(join(sources.inputs, 'new'), '', { mode: 0o666 });
      return slot;
    };
    const lenient = Object.assign(Object.create(slots) as Slots, { make });
    expect(await prove({ slots: lenient })).toEqual({
      works: false,
      reason: 'when it is filled a container finds "writable inputs"',
    });
  });

  test('do not work where a container keeps what was taken away', async () => {
    const make: Slots['make'] = async (id) => {
      const slot = await slots.make(id);
      const empty = slot.empty.bind(slot);
      const asked = { times: 0 };
      slot.empty = async () => {
        asked.times += 1;
        if (asked.times > 1) await empty();
      };
      return slot;
    };
    const keeping = Object.assign(Object.create(slots) as Slots, { make });
    expect(await prove({ slots: keeping })).toEqual({
      works: false,
      reason: 'after it is emptied a container finds "still there"',
    });
  });

  test('do not work where nothing can be mounted', async () => {
    await mounts.close();
    expect(await prove()).toMatchObject({
      works: false,
      reason: expect.stringContaining('closed') as unknown,
    });
    const roots = { sources: [workspace.root], targets: [workspace.slotsRoot] };
    const opened = await openHostMounts({ program: env['SECBOX_MOUNTS_PROGRAM'], roots, logger });
    if (!opened.available) throw new Error(opened.reason);
    mounts = opened.mounts;
    slots = await openSlots({ mounts, root: workspace.slotsRoot, logger });
    await slots.sweep();
  });

  test('are not judged where the engine or the image is missing', async () => {
    await expect(prove({ imageReference: 'secbox/none:latest' })).rejects.toMatchObject({
      code: 'image_missing',
    });
    const silent = new DockerodeEngine(parseDockerHost('unix:///nowhere'), { seccompProfile });
    await expect(prove({ engine: silent })).rejects.toMatchObject({ code: 'engine_unavailable' });
  });
});
