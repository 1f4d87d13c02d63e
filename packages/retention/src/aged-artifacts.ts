import type { ExecId } from '@secbox/contracts';
import { agedTombstone, cutoff, type RetentionParts } from './retention-parts.js';
import { nothing, type Step } from './step.js';
import type { AgedPosition, EndedPlace } from './retention-records.js';
import { unlessInUse } from './unless-in-use.js';

const execsAtOnce = 200;

/** Puts the files of execs into the trash that ended long enough ago. */
export async function* removeAgedArtifacts(parts: RetentionParts): AsyncGenerator<Step> {
  const { records } = parts;
  let after: AgedPosition | undefined;
  for (;;) {
    const before = cutoff(parts, 'artifacts_days');
    if (!before) return;
    const aged = await records.agedExecs(before.toISOString(), { after, limit: execsAtOnce });
    for (const execs of byProject(aged)) {
      yield* unlessInUse(execs[0], async () => {
        const entombed = await parts.whileUnused(execs[0], async () => {
          const here = execs.filter((exec) => isHere(parts, exec)).map(({ execId }) => execId);
          const marked = here.length === 0 ? [] : await records.entombExecs(here, agedTombstone(parts));
          await takeFiles(
            parts,
            execs.filter(({ execId }) => marked.includes(execId)),
          );
          return marked;
        });
        return { ...nothing, execs: entombed.length };
      });
    }
    after = aged.at(-1);
    if (aged.length < execsAtOnce) return;
  }
}

/** Goes on with execs that got their tombstone from a run that was cut off then. */
export async function* finishLeftovers(parts: RetentionParts): AsyncGenerator<Step> {
  for (let before: readonly ExecId[] = []; ;) {
    const left = (await parts.records.leftovers(execsAtOnce)).filter((exec) => isHere(parts, exec));
    const ids = left.map(({ execId }) => execId);
    // Those that are in use are left for another time.
    if (ids.every((id) => before.includes(id))) return;
    before = ids;
    for (const execs of byProject(left)) {
      yield* unlessInUse(execs[0], async () => {
        await parts.whileUnused(execs[0], () => takeFiles(parts, execs));
        return nothing;
      });
    }
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

type Execs<Exec> = readonly [Exec, ...Exec[]];

function byProject<Exec extends EndedPlace>(execs: readonly Exec[]): Iterable<Execs<Exec>> {
  const projects = new Map<string, [Exec, ...Exec[]]>();
  for (const exec of execs) {
    const key = `${exec.tenant}/${exec.projectId}`;
    const known = projects.get(key);
    if (known) known.push(exec);
    else projects.set(key, [exec]);
  }
  return projects.values();
}
