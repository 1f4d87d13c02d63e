import { layeredProject, SecboxError, type TenantId } from '@secbox/contracts';
import type { DiskLimits, ExecRunner } from '@secbox/exec-runner';
import type { UserPlace } from '@secbox/skill-layers';
import type { Workspace } from '@secbox/workspace';

export interface IdleDisksOptions {
  readonly workspace: Pick<Workspace, 'layered' | 'diskOf' | 'discardWork' | 'trash'>;
  readonly runner: Pick<ExecRunner, 'whileUnused'>;
  readonly disk: Pick<DiskLimits, 'letGo'>;
}

/**
 * Removes the disks on which commands of users wrote who are not there any more: what they kept has long moved to the
 * user's overlay. One that is in use stays until the next time. Gives how many went.
 */
export async function removeIdleDisks(
  { workspace, runner, disk }: IdleDisksOptions,
  tenant: TenantId,
  users: readonly UserPlace[],
): Promise<number> {
  const theirs = new Set(users.map(({ userId, agentId }) => layeredProject('skill', userId, agentId)));
  let removed = 0;
  for (const projectId of await workspace.layered(tenant).disks()) {
    if (theirs.has(projectId)) continue;
    const project = { tenant, projectId };
    const remove = async () => {
      if (!(await disk.letGo(workspace.diskOf(project)))) return;
      for (const entry of workspace.discardWork(project))
        await workspace.trash.empty(entry, { files: 0, bytes: 0 });
      removed += 1;
    };
    await runner.whileUnused(project, remove).catch((error: unknown) => {
      if (!(error instanceof SecboxError) || error.code !== 'project_in_use') throw error;
    });
  }
  return removed;
}
