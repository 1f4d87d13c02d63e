import type { SandboxType, StartMode } from '@secbox/contracts';
import type { WorkspaceMounts } from '@secbox/workspace';
import type { Outputs } from '../container-process.js';
import type { ExecPlan } from '../exec-plan.js';
import type { RunResult } from '../run-container.js';

/** The processes of an exec as this host numbers them; none where they are on another host or hidden from us. */
export interface ExecProcesses {
  pids(): Promise<string[]>;
}

export interface StartingSandbox {
  readonly processes: ExecProcesses;
  readonly mode: StartMode;
}

/** One exec, from the moment that it has its folders and a place. */
export interface ExecutorRun {
  readonly plan: Omit<ExecPlan, 'inputs'>;
  readonly mounts: WorkspaceMounts;
  readonly outputs: Outputs;
  /** Aborted with the reason why the exec must end before its time. */
  readonly stop: AbortSignal;
  /** Called once nothing is left to do but to start the command: from here on the exec counts as having run. */
  readonly onStarting: (sandbox: StartingSandbox) => Promise<void>;
  /** Aborted when nobody can wait any longer for the certain death of what runs. */
  readonly abandon: AbortSignal;
  /** Work that goes on when the exec is answered; it never rejects. */
  readonly inBackground: (work: Promise<void>) => void;
  /** What runs may be alive, and cannot be ended yet. */
  readonly onUncertain: (id: string, error: unknown) => void;
  /** It is dead, and something of it is left. */
  readonly onLeftover: (id: string, error: unknown) => void;
}

/** What runs a plan's command. When it has given a result, nothing of the command can write any more. */
export interface Executor {
  readonly type: SandboxType;
  run(run: ExecutorRun): Promise<RunResult>;
}
