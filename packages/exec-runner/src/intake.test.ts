import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { createPathAdapter, Workspace } from '@secbox/workspace';
import { Intake, type IntakeOptions } from './intake.js';

let folder: string;
let workspace: Workspace;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-intake-'));
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  workspace = await Workspace.open({ paths });
});
afterEach(() => rm(folder, { recursive: true }));

const limits = { maxBytes: 1024 ** 3, maxSecretBytes: 1024 };
const input = { path: 'large', secret: false, field: 'inputs/large' };
const megabyte = Buffer.alloc(1024 ** 2);

/** A disk that is full from the look of that number on. */
function fullFrom(look: number): () => void {
  let looks = 0;
  return () => {
    looks += 1;
    if (looks >= look) throw new SecboxError('disk_full', 'full');
  };
}

test('nothing is received where there is no room', () => {
  expect(() => new Intake({ workspace, limits, assertRoom: fullFrom(1), onClose: () => undefined })).toThrow(
    'full',
  );
});

test('of a repeat nothing is kept, so that it needs no room, and all is compared', async () => {
  const compared = async (more: Pick<IntakeOptions, 'keep' | 'assertRoom'>) => {
    const intake = new Intake({ workspace, limits, onClose: () => undefined, ...more });
    await intake.receive(input, Readable.from(Array<Buffer>(20).fill(megabyte)));
    const [{ size, sha256 } = {}] = intake.received;
    const staged = await readdir(join(workspace.root, 'spool'));
    await intake.discard();
    return { size, sha256, staged: staged.length };
  };
  const kept = await compared({ assertRoom: () => undefined });
  expect(kept).toMatchObject({ size: 20 * megabyte.length, staged: 1 });
  expect(await compared({ keep: false, assertRoom: fullFrom(1) })).toEqual({ ...kept, staged: 0 });
});

test('what does not end is cut off when there is no more room, and nothing of it stays', async () => {
  const intake = new Intake({ workspace, limits, assertRoom: fullFrom(3), onClose: () => undefined });
  let sent = 0;
  const endless = function* () {
    for (;;) {
      sent += 1;
      yield megabyte;
    }
  };
  await expect(intake.receive(input, Readable.from(endless()))).rejects.toThrow('full');
  expect(sent).toBeLessThan(64);
  await intake.discard();
  expect(await readdir(join(workspace.root, 'spool'))).toEqual([]);
});
