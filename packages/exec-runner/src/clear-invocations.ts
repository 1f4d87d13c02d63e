import { isEphemeralProject, type ExecId } from '@secbox/contracts';
import type { ProjectPlace, TrashEntry, Workspace } from '@secbox/workspace';

/** Takes away what earlier invocations brought into a project's inputs, but for what is still needed. */
export async function clearOldInvocations(
  workspace: Workspace,
  place: ProjectPlace & { readonly execId: ExecId },
  isNeeded: (execId: ExecId) => boolean,
): Promise<void> {
  for (const execId of await workspace.invocationsIn(place)) {
    if (execId !== place.execId && !isNeeded(execId))
      emptyLater(workspace, workspace.discardInvocation({ ...place, execId }));
  }
}

/** A project that was made for one invocation ends with it, but for what that left behind. */
export function clearEphemeral(
  workspace: Workspace,
  place: ProjectPlace,
  onLeft: (error: unknown) => void,
): void {
  if (!isEphemeralProject(place.projectId)) return;
  try {
    for (const entry of workspace.discardWork(place)) emptyLater(workspace, entry);
  } catch (error) {
    onLeft(error);
  }
}

/** Takes away the folders of an exec that never got a row. */
export async function clearUnrecorded(
  workspace: Workspace,
  place: ProjectPlace & { readonly execId: ExecId },
  onLeft: (error: unknown) => void,
): Promise<void> {
  clearEphemeral(workspace, place, onLeft);
  try {
    emptyLater(workspace, workspace.discardArtifacts(place));
    await workspace.removeSpool(place.execId);
  } catch (error) {
    onLeft(error);
  }
}

/** It is out of everybody's sight; what cannot be removed now is found by retention. */
function emptyLater(workspace: Workspace, entry: TrashEntry | undefined): void {
  if (entry === undefined) return;
  workspace.trash.empty(entry, { files: 0, bytes: 0 }).catch(() => workspace.trash.leave(entry));
}
