import type { PolicyValues } from '@secbox/contracts';

const megabyte = 1024 * 1024;

/** What holds where no layer says anything. */
export const systemDefaults: PolicyValues = Object.freeze({
  net: Object.freeze({ mode: 'none' as const }),
  timeout_ms: 60_000,
  max_stdout_bytes: megabyte,
  max_stderr_bytes: megabyte,
  max_artifacts_bytes_total: 50 * megabyte,
  memory_mb: 1024,
  cpu_cores: 1,
  pids: 256,
  read_only_root: true,
});
