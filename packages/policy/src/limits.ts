import type { LimitField } from '@secbox/contracts';

interface LimitForm {
  readonly floor: number;
  readonly whole: boolean;
}

/**
 * The form of each limit. A number below its floor is malformed, not merely tight: to the engine a memory or
 * pids limit of 0 means "no limit", and below these floors a container cannot start or cannot do anything.
 */
export const limitForms: Readonly<Record<LimitField, LimitForm>> = Object.freeze({
  timeout_ms: { floor: 100, whole: true },
  max_stdout_bytes: { floor: 1, whole: true },
  max_stderr_bytes: { floor: 1, whole: true },
  max_artifacts_bytes_total: { floor: 1, whole: true },
  memory_mb: { floor: 32, whole: true },
  cpu_cores: { floor: 0.01, whole: false },
  pids: { floor: 8, whole: true },
});

/** What is wrong with a value as this limit, or undefined. */
export function limitProblem(field: LimitField, value: unknown): string | undefined {
  const { floor, whole } = limitForms[field];
  const fits =
    typeof value === 'number' &&
    Number.isFinite(value) &&
    value >= floor &&
    (!whole || Number.isInteger(value));
  return fits ? undefined : `must be a ${whole ? 'whole number' : 'number'} of at least ${floor}`;
}
