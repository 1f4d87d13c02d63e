import {
  InitError,
  isGvisor,
  type ContainerEnd,
  type ContainerEngine,
  type ContainerId,
  type ContainerSpec,
} from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import { aborted } from './aborted.js';
import {
  asContainerCommand,
  underInit,
  type ContainerProcess,
  type Outputs,
  type ProcessEnd,
} from './container-process.js';
import type { PlannedCommand } from './exec-command.js';
import { settledWithin } from './settled-within.js';

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
  /** The container is dead but could not be removed. */
  readonly onLeftover: (id: ContainerId, error: unknown) => void;
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

/** How long the engine may take for one step before the exec is given up. */
const engineStepMs = 60_000;

/**
 * Runs one container from its creation to its certain end, and removes it whatever happens.
 * When this resolves, nothing of the container can write any more.
 */
export async function runContainer(run: ContainerRun): Promise<RunResult> {
  const { engine } = run;
  const id = await step('create', run.stop, engine.create(run.spec));
  let result: RunResult | undefined;
  try {
    result = await runCreated(run, id);
    return result;
  } finally {
    const removing = step('remove', undefined, engine.remove(id));
    // The end of the command was told by its init, so a container that cannot be removed yet is only in the way.
    if (result === undefined || isGvisor(run.spec.runtime)) await removing;
    else await removing.catch((error: unknown) => run.onLeftover(id, error));
  }
}

async function runCreated(run: ContainerRun, id: ContainerId): Promise<RunResult> {
  const { engine, stop } = run;
  const attachment = await step('attach', stop, engine.attach(id));
  try {
    const process = run.hasInit ? underInit(attachment) : asContainerCommand(attachment);
    await run.onStarting();
    stop.throwIfAborted();
    await step('start', stop, engine.start(id));
    const ready = process.ready();
    const deadline = startDeadline(run, process, () => engine.kill(id));
    try {
      await step('init', undefined, ready);
      const end = await process.run(run.command, run.outputs).catch(lostInit);
      if (end === 'lost') await engine.kill(id);
      const result = await resultOf(believed(end, run.spec.runtime), () => engine.wait(id));
      return { ...result, timedOut: deadline.passed() };
    } finally {
      await deadline.cancel();
    }
  } finally {
    attachment.close();
  }
}

/** An init that dies under the command, or can be understood no more: how the command ended is unknown. */
function lostInit(error: unknown): 'lost' {
  if (error instanceof InitError && (error.code === 'gone' || error.code === 'protocol')) return 'lost';
  throw error;
}

/**
 * Under gVisor a program can write to the streams of its init, so all that comes through them is its own
 * word: good enough for its output and its exit code, but not for figures about it.
 */
function believed(end: ProcessEnd | 'lost', runtime: string): ProcessEnd | 'lost' {
  if (end === 'lost' || !isGvisor(runtime)) return end;
  const { exit, failure } = end;
  return { ...(exit && { exit }), ...(failure !== undefined && { failure }) };
}

/** One call of the engine, which may hang: it is left behind when the exec is stopped or it takes too long. */
async function step<T>(name: string, stop: AbortSignal | undefined, call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  const answer = call.then((value) => ({ value }));
  const answered = await Promise.race([
    settledWithin(engineStepMs, answer),
    ...(stop ? [aborted(stop)] : []),
  ]);
  if (answered) return answered.value;
  stop?.throwIfAborted();
  throw new SecboxError('engine_unavailable', `The container engine did not answer in time (${name}).`);
}

/** The engine is asked only for what the command's own end does not say. */
async function resultOf(
  end: ProcessEnd | 'lost',
  wait: () => Promise<ContainerEnd>,
): Promise<Omit<RunResult, 'timedOut'>> {
  if (end === 'lost') {
    const { outOfMemory } = await wait();
    const failure =
      'The sandbox ended, or could not be heard any more, before it told how its command ended.';
    return { exitCode: null, signal: null, outOfMemory, failure, cpuMs: null, peakMemoryBytes: null };
  }
  const container = end.exit && end.oomKills !== undefined ? undefined : await wait();
  const exit = end.exit ?? containerExit(container);
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
function containerExit(end: ContainerEnd | undefined): {
  readonly code: number | null;
  readonly signal: number | null;
} {
  if (!end) return { code: null, signal: null };
  return { code: end.exitCode, signal: end.exitCode > 128 && end.exitCode < 192 ? end.exitCode - 128 : null };
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
    if (asked) await settledWithin(politeMs, aborted(over.signal));
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
      // What could not be killed is removed by force next, which says so if it fails too.
      await killing?.catch(() => undefined);
    },
  };
}
