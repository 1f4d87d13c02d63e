import type { ContainerEngine, ContainerId } from '@secbox/container-engine';

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
