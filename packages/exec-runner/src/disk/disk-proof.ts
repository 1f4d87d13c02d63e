import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containerPaths, type ContainerEngine } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import { WorkDisks } from '@secbox/host-mounts';
import type { SelfTestFolders, Workspace } from '@secbox/workspace';
import { settledWithin } from '../settled-within.js';

export interface DiskProof {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly imageReference: string;
  readonly dataDir: string;
}

/** Whether the kernel holds a project to its size, or we have to watch it; and why. */
export interface DiskVerdict {
  readonly kind: 'hard' | 'soft';
  readonly why: string;
}

const mebibyte = 1024 ** 2;
const diskBytes = 32 * mebibyte;
const engineMs = 30_000;

/**
 * Tries from inside a container whether a disk mounted by this process is seen there, and ends where it should. Throws
 * when that cannot be found out now.
 */
export async function proveDisks(proof: DiskProof): Promise<DiskVerdict> {
  if (process.platform !== 'linux') return soft('disk images are mounted on Linux only');
  if (process.getuid?.() !== 0) return soft('mounting disk images needs root');
  const folders = await proof.workspace.prepareSelfTest();
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
  const exitCode = await settledWithin(engineMs, runScript(proof, folders, mark));
  switch (exitCode) {
    case undefined:
      throw new SecboxError('engine_unavailable', 'The container engine did not answer in time (self-test).');
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

async function runScript(
  { engine, imageReference, dataDir }: DiskProof,
  { mounts }: SelfTestFolders,
  mark: string,
): Promise<number> {
  const image = await engine.findImage(imageReference);
  if (!image) throw new SecboxError('image_missing', `The engine does not have the image ${imageReference}.`);
  const { defaultRuntime } = await engine.info();
  const id = await engine.create({
    imageId: image.id,
    runtime: defaultRuntime,
    command: ['sh', '-c', script, mark],
    environment: {},
    workingDirectory: containerPaths.work,
    mounts,
    memoryBytes: 128 * mebibyte,
    cpus: 1,
    pids: 16,
    readOnlyRoot: true,
    maxFileBytes: 2 * diskBytes,
    owner: { dataDir },
  });
  try {
    await engine.start(id);
    return (await engine.wait(id)).exitCode;
  } finally {
    await engine.remove(id);
  }
}

function soft(why: string): DiskVerdict {
  return { kind: 'soft', why };
}
