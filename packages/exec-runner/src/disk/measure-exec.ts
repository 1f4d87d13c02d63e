import type { ExecProcesses } from '../executors/executor.js';
import { folderUsage, type Usage } from './folder-usage.js';
import { unlinkedBytes } from './unlinked-files.js';

export interface ExecUsage {
  readonly artifacts: Usage;
  /** Undefined where the kernel sees to it. */
  readonly work: Usage | undefined;
}

export interface MeasuredExec {
  readonly folders: { readonly work: string; readonly artifacts: string };
  /** Whether its work is on the same disk as everything else, or on one of its own. */
  readonly watchesWork: boolean;
  readonly processes: ExecProcesses | undefined;
}

/** What an exec has on the host's disk at this moment, with and without names. */
export async function measureExec({ folders, watchesWork, processes }: MeasuredExec): Promise<ExecUsage> {
  const [artifacts, work, unlinked] = await Promise.all([
    folderUsage(folders.artifacts),
    watchesWork ? folderUsage(folders.work) : undefined,
    unlinkedBytes((await processes?.pids()) ?? []),
  ]);
  return {
    artifacts: { ...artifacts, bytes: artifacts.bytes + unlinked.artifacts },
    work: work && { ...work, bytes: work.bytes + unlinked.work },
  };
}
