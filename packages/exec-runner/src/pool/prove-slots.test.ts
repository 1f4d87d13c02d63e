import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { Slots } from '@secbox/host-mounts';
import { createPathAdapter, Workspace } from '@secbox/workspace';
import { proveSlots, type SlotsProof } from './prove-slots.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-slots-'));
});
afterEach(async () => {
  jest.useRealTimers();
  await rm(folder, { recursive: true });
});

test('a container that comes to be after nobody waits for it any more is removed', async () => {
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  const workspace = await Workspace.open({ paths });
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const removed: string[] = [];
  let tellAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (tellAsked = resolve));
  let come: (id: string) => void = () => undefined;
  const engine = {
    findImage: () => Promise.resolve({ id: 'i' }),
    create: () => {
      tellAsked();
      return new Promise<string>((resolve) => (come = resolve));
    },
    remove: (id: string) => Promise.resolve(void removed.push(id)),
  };
  const slots = { make: () => Promise.resolve({ id: 's', remove: () => Promise.resolve() }) };
  const proved = proveSlots({
    engine: engine as unknown as SlotsProof['engine'],
    workspace,
    slots: slots as unknown as Slots,
    imageReference: 'i',
    runtime: 'runc',
    dataDir: folder,
  });
  proved.catch(() => undefined);
  await asked;
  await jest.advanceTimersByTimeAsync(31_000);
  await expect(proved).rejects.toMatchObject({ code: 'engine_unavailable' });
  expect(removed).toEqual([]);
  come('late');
  await jest.advanceTimersByTimeAsync(0);
  expect(removed).toEqual(['late']);
});
