import { SecboxError, type ErrorCode, type ExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { pause } from './pause.js';
import { isFull } from './publish-surely.js';

export interface WaitingRun {
  readonly plan: { readonly execId: ExecId };
  readonly logger: Pick<Logger, 'warn'>;
  readonly disk: { readonly hasRoom: () => boolean };
  readonly stop: AbortSignal;
  readonly hasStarted: () => boolean;
}

const tryAgainMs = 1000;
/** What passes by itself, without a change of the request. */
const passing: readonly ErrorCode[] = ['engine_unavailable', 'disk_full', 'database_unavailable'];

/** An exec that was taken on and has not started goes on waiting where a server would refuse a new one. */
export async function untilStarted<T>(run: WaitingRun, attempt: () => Promise<T>): Promise<T> {
  for (let told = false; ; told = true) {
    try {
      return await attempt();
    } catch (error) {
      if (run.hasStarted() || !passes(error, run)) throw error;
      if (!told) run.logger.warn('exec.waits', { exec_id: run.plan.execId, error });
    }
    await pause(tryAgainMs, run.stop);
    run.stop.throwIfAborted();
  }
}

function passes(error: unknown, { disk }: WaitingRun): boolean {
  if (error instanceof SecboxError && passing.includes(error.code)) return true;
  const isRefused = error instanceof SecboxError && error.kind !== 'unavailable';
  // What failed for want of room does not always say so: a disk could not be mounted, for example.
  return !isRefused && (isFull(error) || !disk.hasRoom());
}
