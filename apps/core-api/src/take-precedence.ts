import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Starting containers takes every processor there is. Whoever answers for them, and ends them in time, must not have to
 * wait behind them. Where this user may not do it, it goes without.
 */
export function takePrecedence(): void {
  try {
    for (const thread of threads()) setPriority(thread, constants.priority.PRIORITY_ABOVE_NORMAL);
  } catch {
    // Only an administrator may.
  }
}

/** Linux has precedence by thread. Those of the garbage collector are there by now, and all of us waits for them. */
function threads(): readonly number[] {
  if (process.platform !== 'linux') return [process.pid];
  return readdirSync('/proc/self/task').map(Number);
}
