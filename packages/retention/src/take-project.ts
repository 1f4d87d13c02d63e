import type { TrashEntry } from '@secbox/workspace';
import { sep } from 'node:path';
import type { RetentionParts } from './retention-parts.js';
import type { ProjectKey, ProjectRemovalRecord } from './retention-records.js';

export interface TakenProject {
  readonly execs: number;
  readonly contents: number;
  /** The space of contents that no input had a link to; that of the others comes back with the trash. */
  readonly bytes: number;
  /** What is still to be removed from the disk. */
  readonly trash: readonly TrashEntry[];
}

/** How many rows one step writes: the database is not held up for longer. */
const rowsAtOnce = 500;

/**
 * Carries out a removal that was recorded, from its beginning or from wherever it was cut off; to be done while
 * the project is unused. Afterwards the project, or its inputs, are as if they had never been.
 */
export async function takeProject(
  parts: RetentionParts,
  removal: ProjectRemovalRecord,
): Promise<TakenProject> {
  const { records, workspace, now } = parts;
  const execs = removal.scope === 'project' ? await entombAll(parts, removal) : 0;
  const trash =
    removal.scope === 'project' ? await takeAll(parts, removal) : [workspace.discardInputs(removal)];
  const contents = await removeContents(parts, removal);
  await records.endRemoval(removal, now().toISOString());
  return { execs, ...contents, trash: trash.filter((entry) => entry !== undefined) };
}

async function entombAll(
  { records, workspace }: RetentionParts,
  removal: ProjectRemovalRecord,
): Promise<number> {
  const folder = `${workspace.artifactsOf(removal)}${sep}`;
  let execs = 0;
  let after: number | undefined;
  do {
    const step = await records.entombProject(removal, { folder, after, limit: rowsAtOnce });
    execs += step.execs;
    after = step.after;
  } while (after !== undefined);
  return execs;
}

async function takeAll({ workspace, unmount }: RetentionParts, project: ProjectKey): Promise<TrashEntry[]> {
  // One that is in use is moved as it is mounted, and can be removed when it is not any more.
  await unmount(workspace.diskOf(project));
  return workspace.discardProject(project);
}

/** A content that another project brought too stays for that one. */
async function removeContents(
  { records, workspace }: RetentionParts,
  project: ProjectKey,
): Promise<Pick<TakenProject, 'contents' | 'bytes'>> {
  const store = workspace.contentsOf(project.tenant);
  const tally = { files: 0, bytes: 0 };
  for (let contents = 0; ;) {
    const forgotten: string[] = [];
    contents += await store.removeChosen(async () => {
      const brought = await records.contents(project, rowsAtOnce);
      forgotten.push(...brought.map(({ sha256 }) => sha256));
      return brought.filter(({ shared }) => !shared).map(({ sha256 }) => sha256);
    }, tally);
    if (forgotten.length === 0) return { contents, bytes: tally.bytes };
    await records.forgetContents(project, forgotten);
  }
}
