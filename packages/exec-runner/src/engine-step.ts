import type { ContainerEngine, ContainerId, ContainerSpec } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import { aborted } from './aborted.js';
import { settledWithin } from './settled-within.js';

/** How long the engine may take for one step before the exec is given up. */
const engineStepMs = 60_000;

/** One call of the engine, which may hang: it is left behind when the exec is stopped or it takes too long. */
export async function engineStep<T>(
  name: string,
  stop: AbortSignal | undefined,
  call: Promise<T>,
  ms = engineStepMs,
): Promise<T> {
  call.catch(() => undefined);
  const answer = call.then((value) => ({ value }));
  const answered = await Promise.race([settledWithin(ms, answer), ...(stop ? [aborted(stop)] : [])]);
  if (answered) return answered.value;
  stop?.throwIfAborted();
  throw new SecboxError('engine_unavailable', `The container engine did not answer in time (${name}).`);
}

/** Whoever stops waiting for a container leaves none behind: one that comes to be later is removed. */
export function createInTime(
  engine: Pick<ContainerEngine, 'create' | 'remove'>,
  spec: ContainerSpec,
  ms: number,
): Promise<ContainerId> {
  const creating = engine.create(spec);
  return engineStep('create', undefined, creating, ms).catch((error: unknown) => {
    creating.then((late) => engine.remove(late)).catch(() => undefined);
    throw error;
  });
}
