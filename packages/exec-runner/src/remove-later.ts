import type { ContainerEngine, ContainerId } from '@secbox/container-engine';
import type { ExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';

const removeAgainMs = 5000;
const removeTries = 20;

/** A dead container that the engine did not remove at once; what is left at the end is removed by the next start. */
export function removeLater(engine: Pick<ContainerEngine, 'remove'>, id: ContainerId): void {
  const attempt = (triesLeft: number) => {
    const again = () => triesLeft > 0 && attempt(triesLeft - 1);
    setTimeout(() => void engine.remove(id).catch(again), removeAgainMs).unref();
  };
  attempt(removeTries);
}

/** Nobody waits for it; what stays is found by the sweep. */
export async function removeSpoolLater(
  workspace: Pick<Workspace, 'removeSpool'>,
  execId: ExecId,
  log: Logger,
): Promise<void> {
  // Whoever waits for the end of this exec hears of it first.
  await new Promise((resolve) => setImmediate(resolve));
  await workspace.removeSpool(execId).catch((error: unknown) => log.warn('exec.spool_left', { error }));
}
