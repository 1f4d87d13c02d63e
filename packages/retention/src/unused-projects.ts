import type { RetentionSettings } from '@secbox/contracts';
import type { ProjectRemover } from './project-remover.js';
import { agedTombstone, cutoff, type RetentionParts } from './retention-parts.js';
import type { ProjectKey, RemovalScope } from './retention-records.js';
import { nothing, type Step } from './step.js';
import { unlessInUse } from './unless-in-use.js';

const projectsAtOnce = 200;

/** Removes projects that nobody has used for long enough, or at least their inputs. */
export async function* removeUnusedProjects(
  parts: RetentionParts,
  remover: ProjectRemover,
): AsyncGenerator<Step> {
  if (!cutoff(parts, 'projects_days') && !cutoff(parts, 'inputs_days')) return;
  for (const tenant of await parts.workspace.tenants()) {
    let after: string | undefined;
    do {
      const page = await parts.records.projects(tenant, { after, limit: projectsAtOnce });
      for (const { project_id: projectId, last_used_at: at } of page.items) {
        const project = { tenant, projectId };
        const scope = await dueOf(parts, project, at);
        if (scope) yield* unlessInUse(project, () => removeUnused(parts, remover, project, scope));
      }
      after = page.after;
    } while (after !== undefined);
  }
}

/** Looked at again once nobody can use it: an exec may have come and gone meanwhile. */
async function removeUnused(
  parts: RetentionParts,
  remover: ProjectRemover,
  project: ProjectKey,
  scope: RemovalScope,
): Promise<Step> {
  const taken = await remover.take(project, {
    scope,
    tombstone: () => agedTombstone(parts),
    isDue: async (lastUse) => (await dueOf(parts, project, lastUse)) === scope,
  });
  if (!taken) return nothing;
  for (const entry of taken.trash) parts.workspace.trash.leave(entry);
  const { execs, contents, bytes } = taken;
  const removed = scope === 'project' ? { projects: 1 } : { inputs: 1 };
  return { ...nothing, ...removed, execs, contents, bytes };
}

async function dueOf(
  parts: RetentionParts,
  project: ProjectKey,
  lastUse: string,
): Promise<RemovalScope | undefined> {
  const isPast = (setting: keyof RetentionSettings) =>
    Date.parse(lastUse) < (cutoff(parts, setting)?.getTime() ?? -Infinity);
  if (isPast('projects_days')) return 'project';
  return isPast('inputs_days') && (await parts.workspace.hasInputs(project)) ? 'inputs' : undefined;
}
