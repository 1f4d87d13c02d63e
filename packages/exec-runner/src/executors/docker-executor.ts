import { containerPaths, initPath, type ContainerSpec } from '@secbox/container-engine';
import { ContainerProcesses } from '../disk/container-processes.js';
import type { ExecPlan } from '../exec-plan.js';
import { warmSpecOf } from '../pool/warm-container.js';
import { runContainer, type RunResult } from '../run-container.js';
import type { ExecRunnerOptions } from '../runner-options.js';
import type { Executor, ExecutorRun } from './executor.js';

export interface DockerExecutorOptions extends Pick<
  ExecRunnerOptions,
  'engine' | 'warm' | 'dataDir' | 'logger'
> {
  readonly disk: { readonly maxFileBytes: (maxArtifactsBytes: number) => number };
}

/** Each command in a container of its own. */
export class DockerExecutor implements Executor {
  readonly type = 'docker';
  readonly #options: DockerExecutorOptions;

  constructor(options: DockerExecutorOptions) {
    this.#options = options;
  }

  run(run: ExecutorRun): Promise<RunResult> {
    const { engine, warm, logger } = this.#options;
    const { plan, onStarting } = run;
    return runContainer({
      ...run,
      engine,
      warm,
      spec: specOf(this.#options, run),
      hasInit: plan.image.hasInit,
      command: plan.command,
      timeoutMs: plan.policy.values.timeout_ms,
      onUnusable: (error) => logger.warn('exec.warm_unusable', { exec_id: plan.execId, error }),
      onStarting: (id, mode) => onStarting({ processes: new ContainerProcesses(id), mode }),
    });
  }
}

function specOf({ disk, dataDir }: DockerExecutorOptions, { plan, mounts }: ExecutorRun): ContainerSpec {
  return {
    ...warmSpecOf(plan.policy, plan.image, disk),
    ...(plan.image.hasInit ? initProcess : processOf(plan)),
    mounts,
    owner: { purpose: 'exec', execId: plan.execId, dataDir },
  };
}

/** The engine learns nothing of the command: it travels in band, and with it the values of the environment. */
const initProcess = { command: [initPath], environment: {}, workingDirectory: containerPaths.work } as const;

function processOf({ command }: Pick<ExecPlan, 'command'>) {
  return {
    command: [command.command, ...command.args],
    environment: command.environment,
    workingDirectory: command.cwd,
  };
}
