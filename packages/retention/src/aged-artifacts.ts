import { agedTombstone, cutoff, type RetentionParts } from './retention-parts.js';
import { nothing, type Step } from './step.js';
import type { AgedPosition, EndedPlace } from './retention-records.js';

const execsAtOnce = 200;

/**
 * Puts the files of execs into the trash that ended long enough ago, also of a project in use: nothing runs any more that
 * could reach them, and no other exec sees them.
 */
export async function* removeAgedArtifacts(parts: RetentionParts): AsyncGenerator<Step> {
  const { records } = parts;
  let after: AgedPosition | undefined;
  for (;;) {
    const before = cutoff(parts, 'artifacts_days');
    if (!before) return;
    const aged = await records.agedExecs(before.toISOString(), { after, limit: execsAtOnce });
    const here = aged.filter((exec) => isHere(parts, exec));
    const ids = here.map(({ execId }) => execId);
    const marked = new Set(ids.length === 0 ? [] : await records.entombExecs(ids, agedTombstone(parts)));
    await takeFiles(
      parts,
      here.filter(({ execId }) => marked.has(execId)),
    );
    yield { ...nothing, execs: marked.size };
    after = aged.at(-1);
    if (aged.length < execsAtOnce) return;
  }
}

/** Goes on with execs that got their tombstone from a run that was cut off then. */
export async function* finishLeftovers(parts: RetentionParts): AsyncGenerator<Step> {
  for (;;) {
    const left = (await parts.records.leftovers(execsAtOnce)).filter((exec) => isHere(parts, exec));
    if (left.length === 0) return;
    await takeFiles(parts, left);
    yield nothing;
  }
}

async function takeFiles(
  { records, workspace }: RetentionParts,
  execs: readonly EndedPlace[],
): Promise<void> {
  for (const exec of execs) workspace.trash.leave(workspace.discardArtifacts(exec));
  if (execs.length > 0) await records.settle(execs.map(({ execId }) => execId));
}

/** What lies in a workspace that was used before is not ours to remove: nobody knows whether it can be reached. */
function isHere({ workspace }: RetentionParts, exec: EndedPlace): boolean {
  return workspace.foldersOf(exec).artifacts === exec.artifactsPath;
}
