import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containerPaths } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import { WorkDisks } from '@secbox/host-mounts';
import type { SelfTestFolders, Workspace } from '@secbox/workspace';
import { mebibyte, runSelfTest, type SelfTest } from '../self-test.js';

export interface DiskProof extends SelfTest {
  readonly workspace: Workspace;
}

/** Whether the kernel holds a project to its size, or we have to watch it; and why. */
export interface DiskVerdict {
  readonly kind: 'hard' | 'soft';
  readonly why: string;
}

const diskBytes = 32 * mebibyte;

/**
 * Tries from inside a container whether a disk mounted by this process is seen there, and ends where it should. Throws
 * when that cannot be found out now.
 */
export async function proveDisks(proof: DiskProof): Promise<DiskVerdict> {
  if (process.platform !== 'linux') return soft('disk images are mounted on Linux only');
  if (process.getuid?.() !== 0) return soft('mounting disk images needs root');
  const folders = proof.workspace.prepareSelfTest();
  const disks = new WorkDisks();
  try {
    const place = { folder: folders.disk, mountPoint: folders.work };
    const release = await disks.hold(place, diskBytes).catch(reasonOf);
    if (typeof release === 'string') return soft(release);
    try {
      return await tryFromInside(proof, folders);
    } finally {
      release();
    }
  } finally {
    await disks.close();
    await proof.workspace.removeSelfTest();
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof SecboxError)) throw error;
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function tryFromInside(proof: DiskProof, folders: SelfTestFolders): Promise<DiskVerdict> {
  const mark = randomUUID();
  await writeFile(join(folders.work, 'mark'), mark);
  const { mounts } = folders;
  const exitCode = await runSelfTest(proof, { script, mark, mounts, maxFileBytes: 2 * diskBytes });
  switch (exitCode) {
    case 0:
      return { kind: 'hard', why: 'a disk image per project; tried from inside a container' };
    case unseen:
      return soft('the engine does not see what this process mounts');
    case unbounded:
      return soft('a container could write past the size of a disk');
    default:
      return soft(`the self-test in a container ended with exit code ${exitCode}`);
  }
}

const unseen = 10;
const unbounded = 11;

const script = `
test "$(cat ${containerPaths.work}/mark)" = "$0" || exit ${unseen}
if said=$(dd if=/dev/zero of=${containerPaths.work}/fill bs=1M count=${(diskBytes * 1.25) / mebibyte} 2>&1); then exit ${unbounded}; fi
case $said in *'No space left'*) exit 0;; esac
exit 1
`;

function soft(why: string): DiskVerdict {
  return { kind: 'soft', why };
}
