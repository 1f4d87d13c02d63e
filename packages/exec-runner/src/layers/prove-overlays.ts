import { randomUUID } from 'node:crypto';
import { access, chown, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { containerPaths } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import type { HostMounts } from '@secbox/skill-layers';
import { sandboxOwner, type SelfTestFolders, type Workspace } from '@secbox/workspace';
import { mebibyte, runSelfTest, type SelfTest } from '../self-test.js';

export interface OverlayProof extends SelfTest {
  readonly workspace: Workspace;
  readonly mounts: HostMounts | undefined;
}

/** Whether containers see, and write into, folders that this process laid over each other; and why. */
export interface OverlayVerdict {
  readonly works: boolean;
  readonly why: string;
}

const selfTest = 'self-test-layers';

/** Tries it from inside a container. Throws when that cannot be found out now. */
export async function proveOverlays(proof: OverlayProof): Promise<OverlayVerdict> {
  const { mounts, workspace } = proof;
  if (!mounts)
    return fails('folders are laid over each other by the mounts helper, which this host goes without');
  const folders = workspace.prepareSelfTest(selfTest);
  try {
    const mark = randomUUID();
    const [upper, work] = [join(folders.disk, 'upper'), join(folders.disk, 'work')];
    await mkdir(folders.disk);
    const marked = join(folders.inputs, 'mark');
    for (const path of [upper, work]) await mkdir(path, { mode: 0o755 });
    await writeFile(marked, mark, { mode: 0o644 });
    for (const path of [upper, work, marked]) await chown(path, sandboxOwner.uid, sandboxOwner.gid);
    try {
      await mounts.overlay({ lower: [folders.inputs], upper, work, target: folders.work });
    } catch (error) {
      if (error instanceof SecboxError) return fails(error.message);
      throw error;
    }
    try {
      return await tryFromInside(proof, folders, { mark, upper });
    } finally {
      await mounts.unmount(folders.work);
    }
  } finally {
    await workspace.removeSelfTest(selfTest);
  }
}

const unseen = 10;
const unwritable = 11;
const script = `
cd ${containerPaths.work} || exit 1
test "$(cat mark)" = "$0" || exit ${unseen}
echo more >>mark && mkdir folder && echo new >folder/new && rm mark && test ! -e mark || exit ${unwritable}
`;

async function tryFromInside(
  proof: OverlayProof,
  { mounts }: SelfTestFolders,
  { mark, upper }: { readonly mark: string; readonly upper: string },
): Promise<OverlayVerdict> {
  const exitCode = await runSelfTest(proof, { script, mark, mounts, maxFileBytes: mebibyte });
  switch (exitCode) {
    case 0:
      return access(join(upper, 'folder', 'new')).then(
        () => ({
          works: true,
          why: 'the kernel lays folders over each other; tried from inside a container',
        }),
        () => fails('what a container writes does not arrive'),
      );
    case unseen:
      return fails('the engine does not see what this process mounts');
    case unwritable:
      return fails('a container cannot write into it');
    default:
      return fails(`the self-test in a container ended with exit code ${exitCode}`);
  }
}

function fails(why: string): OverlayVerdict {
  return { works: false, why };
}
