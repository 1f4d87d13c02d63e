import {
  InitError,
  type ContainerEnd,
  type ContainerEngine,
  type ContainerSpec,
} from '@secbox/container-engine';
import {
  asContainerCommand,
  underInit,
  type ContainerProcess,
  type Outputs,
  type ProcessEnd,
} from './container-process.js';
import type { PlannedCommand } from './exec-command.js';

export interface ContainerRun {
  readonly engine: ContainerEngine;
  readonly spec: ContainerSpec;
  /** Whether the container's first process is our init. */
  readonly hasInit: boolean;
  readonly command: PlannedCommand;
  readonly timeoutMs: number;
  /** Aborted with the reason why the exec must end before its time. */
  readonly stop: AbortSignal;
  readonly outputs: Outputs;
  /** Called once the container is about to start: from here on the exec counts as having run. */
  readonly onStarting: () => Promise<void>;
}

export interface RunResult {
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly outOfMemory: boolean;
  readonly timedOut: boolean;
  readonly failure: string | null;
  readonly cpuMs: number | null;
  readonly peakMemoryBytes: number | null;
}

/**
 * Runs one container from its creation to its certain end, and removes it whatever happens.
 * When this resolves, nothing of the container can write any more.
 */
export async function runContainer(run: ContainerRun): Promise<RunResult> {
  const { engine } = run;
  const id = await engine.create(run.spec);
  try {
    const attachment = await engine.attach(id);
    try {
      const process = run.hasInit ? underInit(attachment) : asContainerCommand(attachment);
      await run.onStarting();
      run.stop.throwIfAborted();
      await engine.start(id);
      const ready = process.ready();
      const deadline = startDeadline(run, process, () => engine.kill(id));
      try {
        await ready;
        const end = await process.run(run.command, run.outputs).catch(lostInit);
        return { ...(await resultOf(end, () => engine.wait(id))), timedOut: deadline.passed() };
      } finally {
        await deadline.cancel();
      }
    } finally {
      attachment.close();
    }
  } finally {
    await engine.remove(id);
  }
}

/** An init that dies under the command is the container's end; the engine tells how. Nothing is run again. */
function lostInit(error: unknown): ProcessEnd {
  if (error instanceof InitError && error.code === 'gone') return {};
  throw error;
}

/** The engine is asked only for what the command's own end does not say. */
async function resultOf(
  end: ProcessEnd,
  wait: () => Promise<ContainerEnd>,
): Promise<Omit<RunResult, 'timedOut'>> {
  const container = end.exit && end.oomKills !== undefined ? undefined : await wait();
  const exitCode = container?.exitCode ?? 0;
  const exit = end.exit ?? { code: exitCode, signal: signalOf(exitCode) };
  return {
    exitCode: exit.code,
    signal: exit.signal,
    outOfMemory: end.oomKills === undefined ? container?.outOfMemory === true : end.oomKills > 0,
    failure: end.failure ?? null,
    cpuMs: end.cpuMs ?? null,
    peakMemoryBytes: end.peakMemoryBytes ?? null,
  };
}

/** Engines tell the death of a container's first process by signal n as 128 + n. */
function signalOf(exitCode: number): number | null {
  return exitCode > 128 && exitCode < 192 ? exitCode - 128 : null;
}

/** How long the init has to end the command by itself, with its figures, before the engine ends them both. */
const politeMs = 2000;

/** Ends the command when the time is up or a stop is asked for, whichever comes first. */
function startDeadline(
  { timeoutMs, stop }: ContainerRun,
  process: ContainerProcess,
  killContainer: () => Promise<void>,
) {
  const over = new AbortController();
  let timedOut = false;
  let killing: Promise<void> | undefined;

  const end = async () => {
    const asked = await process.kill();
    if (asked) await elapsed(politeMs, over.signal);
    if (!over.signal.aborted) await killContainer();
  };
  const onStop = () => {
    killing ??= end();
    // Awaited in cancel(), which may be a while: until then a failure is not unhandled.
    killing.catch(() => undefined);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    onStop();
  }, timeoutMs);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  return {
    passed: () => timedOut,
    cancel: async () => {
      over.abort();
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
      await killing;
    },
  };
}

function elapsed(ms: number, interrupt: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    interrupt.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
