import { chmodSync } from 'node:fs';
import { SecboxError } from '@secbox/contracts';
import type { ExecFolders } from '@secbox/workspace';
import { assertSkillAsApproved } from '../approval/expected-skill.js';
import type { DiskExec } from '../disk/disk-limits.js';
import type { ExecPlan } from '../exec-plan.js';
import type { ExecRunnerOptions } from '../runner-options.js';
import type { LayeredExec, LayeredTask } from './layered-work.js';
import type { PlannedLayer } from './planned-layer.js';

/** An exec that works on a user's files instead of a project's. */
export interface LayeredRun<T>
  extends Pick<ExecRunnerOptions, 'disk' | 'workspace' | 'layered'>, Pick<LayeredTask<T>, 'inBackground'> {
  readonly plan: Pick<ExecPlan, 'execId' | 'tenant' | 'projectId' | 'expectsSkill'>;
}

/**
 * Runs an exec over a layered skill, whose writes lie on its project's disk, or in a user's general sandbox, which has
 * none: its size is watched.
 */
export async function runLayered<T>(
  { plan, disk, workspace, layered, inBackground }: LayeredRun<T>,
  layer: PlannedLayer,
  { folders, ...diskExec }: Omit<DiskExec, 'folders'> & { readonly folders: ExecFolders },
  work: (folders: ExecFolders, exec?: LayeredExec) => Promise<T>,
): Promise<T> {
  if (!layered) throw new SecboxError('internal_error', 'There are no layered skills here.');
  const { execId, tenant, projectId } = plan;
  if (layer.kind === 'sandbox') {
    return layered.inSandbox(tenant, layer, () => {
      const { path, mount } = workspace.layered(tenant).sandboxOf(layer);
      // The program of an exec before may have shut it.
      chmodSync(path, 0o755);
      const inSandbox = { ...folders, work: path, mounts: { ...folders.mounts, work: mount } };
      const watched = { ...diskExec, folders: inSandbox, withoutDisk: true };
      return disk.during(watched, () => work(inSandbox));
    });
  }
  const place = { ...layer, execId, tenant, projectId };
  return disk.during({ ...diskExec, folders }, () =>
    layered.during(place, folders.mounts, {
      inBackground,
      work: async (exec) => {
        // Now that it is frozen: from here on nobody changes it under the exec.
        assertSkillAsApproved(plan, exec.start);
        return work({ ...folders, mounts: exec.mounts }, exec);
      },
    }),
  );
}
