import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { sandboxOwner, type Workspace, type WorkspaceMounts } from '@secbox/workspace';
import { aborted } from '../aborted.js';
import { underInit, type ContainerProcess, type ProcessEnd } from '../container-process.js';
import type { PlannedCommand } from '../exec-command.js';
import { Abandoned, type RunResult } from '../run-container.js';
import { settledWithin } from '../settled-within.js';
import type { Executor, ExecutorRun } from './executor.js';
import { processesBelow } from './host-process.js';
import { proveSubprocess } from './prove-subprocess.js';
import { Subprocess } from './subprocess.js';
import { recordSubprocess } from './subprocess-record.js';

export interface SubprocessExecutorOptions {
  /** The compiled launcher; undefined where set-up made none. */
  readonly program: string | undefined;
  readonly workspace: Workspace;
  readonly dataDir: string;
  readonly disk: { readonly maxFileBytes: (maxArtifactsBytes: number) => number };
  readonly logger: Logger;
}

export type SubprocessReport =
  | { readonly available: true; readonly programs: readonly string[] }
  | { readonly available: false; readonly why: string };

const readyMs = 10_000;
/** What a command that is asked to end has for it. */
const graceMs = 2000;
const openFiles = 1024;
const terminate = 15;

/** Where programs of the host are looked for; what `/usr/local` has may be anybody's. */
const searchPath = '/usr/bin:/bin';
/** What a command may name, and what that is on a host. */
const interpreters: Readonly<Record<string, string>> = {
  bash: 'bash',
  python: 'python3',
  python3: 'python3',
};

/** All that a command sees of an environment: nothing of the server's, nor of an image's. */
const environment = {
  PATH: searchPath,
  HOME: '/home/sandbox',
  LANG: 'C.UTF-8',
  // What others left in the project is not loaded in the place of a module that was looked at.
  PYTHONSAFEPATH: '1',
} as const;

/** Each command as a process of this host, under the sandbox's own init: for development, and for what looks SAFE. */
export class SubprocessExecutor implements Executor {
  readonly type = 'subprocess';
  readonly #options: SubprocessExecutorOptions;
  #report: SubprocessReport = { available: false, why: 'not tried yet' };

  constructor(options: SubprocessExecutorOptions) {
    this.#options = options;
  }

  /** Tries whether this host can do it; where it cannot, nothing is run by it. */
  async begin(): Promise<void> {
    const { logger } = this.#options;
    this.#report = await this.#prove();
    logger[this.#report.available ? 'info' : 'warn']('subprocess.tried', { ...this.#report });
  }

  report(): SubprocessReport {
    return this.#report;
  }

  /** Whether a command by this name is the same program here as in a container. */
  canRun(command: string): boolean {
    return this.#report.available && this.#report.programs.includes(command);
  }

  async run(run: ExecutorRun): Promise<RunResult> {
    const { plan } = run;
    run.stop.throwIfAborted();
    const subprocess = this.#launch(run.mounts, plan.policy.values.pids);
    const [ended] = await Promise.allSettled([this.#runIn(run, subprocess)]);
    await endSurely(run, subprocess);
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  }

  async #runIn(run: ExecutorRun, subprocess: Subprocess): Promise<RunResult> {
    const { plan, stop } = run;
    const { values } = plan.policy;
    const command = underInit(subprocess.attachment, {
      kill: { signal: terminate, graceMs },
      rlimits: {
        as: values.memory_mb * 1024 ** 2,
        cpu: Math.ceil((values.timeout_ms / 1000) * Math.max(1, values.cpu_cores)) + 1,
        fsize: this.#options.disk.maxFileBytes(values.max_artifacts_bytes_total),
        nofile: openFiles,
      },
    });
    await readied(command, subprocess, stop);
    const known = await subprocess.identify();
    const first = known.at(-1);
    if (first === undefined) throw new SecboxError('sandbox_unavailable', await subprocess.ended);
    await recordSubprocess(this.#options.workspace, plan.execId, known);
    await run.onStarting({ processes: processesBelow(first.pid), mode: 'cold' });
    stop.throwIfAborted();
    const deadline = startDeadline(values.timeout_ms, stop, command, subprocess);
    try {
      const end = await command.run(onHost(plan.command), run.outputs).catch(lost);
      return resultOf(end, deadline.over());
    } finally {
      deadline.cancel();
    }
  }

  #launch(mounts: WorkspaceMounts, pids: number): Subprocess {
    const { program, dataDir, workspace } = this.#options;
    if (program === undefined)
      throw new SecboxError('sandbox_unavailable', 'There is no program that starts processes.');
    // The init is one of them.
    const processes = pids + 1;
    return new Subprocess({
      program,
      owner: sandboxOwner,
      mounts,
      processes,
      hidden: [...new Set([dataDir, workspace.root])],
    });
  }

  async #prove(): Promise<SubprocessReport> {
    const { program, workspace } = this.#options;
    if (process.platform !== 'linux') return { available: false, why: 'processes are started on Linux only' };
    if (program === undefined) return { available: false, why: 'SECBOX_SUBPROCESS_PROGRAM is not set' };
    const why = await proveSubprocess(workspace, (mounts) => this.#launch(mounts, 8), {
      readied,
      environment,
    });
    if (why !== undefined) return { available: false, why };
    const programs: string[] = [];
    for (const [name, host] of Object.entries(interpreters)) if (await isProgram(host)) programs.push(name);
    return { available: true, programs };
  }
}

/** Until the kernel has let go of all of it, something may live on and write. */
async function endSurely({ abandon, onUncertain, plan }: ExecutorRun, subprocess: Subprocess): Promise<void> {
  for (let told = false; !(await subprocess.end()); told = true) {
    if (!told) onUncertain(plan.execId, new Error('its processes cannot be ended'));
    if (abandon.aborted) throw new Abandoned();
  }
}

async function readied(command: ContainerProcess, subprocess: Subprocess, stop: AbortSignal): Promise<void> {
  const ready = command.ready().then(
    () => 'ready' as const,
    () => undefined,
  );
  const is = await Promise.race([settledWithin(readyMs, ready), aborted(stop)]);
  stop.throwIfAborted();
  if (is === 'ready') return;
  const why = (await settledWithin(1000, subprocess.ended)) ?? 'it does not answer';
  throw new SecboxError('sandbox_unavailable', `A process could not be started on this host: ${why}.`);
}

function onHost({ command, environmentKeys, environment: planned, ...rest }: PlannedCommand): PlannedCommand {
  const asked = Object.fromEntries(environmentKeys.map((name) => [name, planned[name] ?? '']));
  return {
    ...rest,
    command: (Object.hasOwn(interpreters, command) ? interpreters[command] : undefined) ?? command,
    environmentKeys,
    environment: { ...environment, ...asked },
  };
}

function lost(): ProcessEnd {
  return {
    failure: 'The process ended, or could not be heard any more, before it told how its command ended.',
  };
}

function resultOf(
  { exit, failure, cpuMs, peakMemoryBytes }: ProcessEnd,
  over: { readonly timedOut: boolean; readonly ended: boolean },
): RunResult {
  return {
    exitCode: exit?.code ?? null,
    signal: exit?.signal ?? null,
    outOfMemory: false,
    timedOut: over.timedOut,
    // One that was asked to end and did so nicely has not done what it was to do.
    endedEarly: over.ended,
    failure: failure ?? null,
    engineLost: false,
    cpuMs: cpuMs ?? null,
    peakMemoryBytes: peakMemoryBytes ?? null,
  };
}

/** Asks the command to end when its time is up or a stop is asked for; what is left after the grace is killed. */
function startDeadline(
  timeoutMs: number,
  stop: AbortSignal,
  command: ContainerProcess,
  subprocess: Subprocess,
) {
  let timedOut = false;
  let ended = false;
  let surely: NodeJS.Timeout | undefined;
  const end = () => {
    if (ended) return;
    ended = true;
    // The init kills by itself after the grace. Should it not, it goes with all of it.
    surely = setTimeout(() => void subprocess.end(), 2 * graceMs);
    command.kill().catch(() => void subprocess.end());
  };
  const timer = setTimeout(() => {
    timedOut = !ended;
    end();
  }, timeoutMs);
  stop.addEventListener('abort', end, { once: true });
  if (stop.aborted) end();
  return {
    over: () => ({ timedOut, ended }),
    cancel: () => {
      clearTimeout(timer);
      clearTimeout(surely);
      stop.removeEventListener('abort', end);
    },
  };
}

async function isProgram(name: string): Promise<boolean> {
  for (const folder of searchPath.split(delimiter)) {
    const found = await access(join(folder, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return true;
  }
  return false;
}
