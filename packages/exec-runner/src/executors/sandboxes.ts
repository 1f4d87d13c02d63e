import { isGvisor } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import { requiredSandbox, type RiskAssessor, type SecurityMode } from '@secbox/risk';
import type { ExecPlan } from '../exec-plan.js';
import type { Executor } from './executor.js';
import type { SubprocessExecutor } from './subprocess-executor.js';

export interface SandboxesOptions {
  /** As Settings have it at this moment. */
  readonly mode: () => SecurityMode;
  readonly assessor: Pick<RiskAssessor, 'assessCommand'>;
  /** Where an operator has turned it on. */
  readonly subprocess?: SubprocessExecutor | undefined;
}

/** What a plan says of an image where there is none. */
const hostImage = { reference: 'host', id: 'host', hasInit: true } as const;

/** Which sandbox an exec runs in. Docker, and nothing is looked at, unless both an operator and Settings say otherwise. */
export class Sandboxes {
  readonly #options: SandboxesOptions;

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** The plan with its sandbox; a promise only where something has to be looked at. */
  choose(plan: ExecPlan): ExecPlan | Promise<ExecPlan> {
    const subprocess = this.#inUse();
    return subprocess && fits(plan, subprocess) ? this.#assess(plan) : plan;
  }

  /** Of a plan that was to run on the host: it may have waited, and that may not be allowed any more. */
  subprocess(): Executor {
    const subprocess = this.#inUse();
    if (subprocess?.report().available === true) return subprocess;
    throw new SecboxError(
      'sandbox_unavailable',
      'The exec was to run as a process of the host, which is not allowed or not possible any more; it was not run.',
    );
  }

  #inUse(): SubprocessExecutor | undefined {
    const { mode, subprocess } = this.#options;
    return subprocess && mode() === 'PERMISSIVE' ? subprocess : undefined;
  }

  async #assess(plan: ExecPlan): Promise<ExecPlan> {
    const { assessor, mode } = this.#options;
    const { command, args, stdin } = plan.command;
    const { level, complete } = await assessor.assessCommand(
      [command, ...args],
      stdin === '' ? {} : { stdin },
    );
    if (!complete || requiredSandbox(level, mode()) !== 'subprocess') return plan;
    return { ...plan, sandbox: 'subprocess', image: hostImage };
  }
}

/**
 * Whether what will be assessed is all that decides what the command does. Variables of its own decide which programs and
 * modules are found, skills and layers bring files; and who asks for gVisor asks for more than a process.
 */
function fits(
  { command, skill, layer, readOnlyWork, policy }: ExecPlan,
  subprocess: SubprocessExecutor,
): boolean {
  return (
    !skill &&
    !layer &&
    readOnlyWork !== true &&
    command.environmentKeys.length === 0 &&
    !isGvisor(policy.runtime.value) &&
    subprocess.canRun(command.command)
  );
}
