import {
  InitError,
  isGvisor,
  type Attachment,
  type ContainerEnd,
  type ContainerEngine,
  type ContainerId,
  type ContainerSpec,
} from '@secbox/container-engine';
import type { StartMode } from '@secbox/contracts';
import {
  asContainerCommand,
  underInit,
  type ContainerProcess,
  type Outputs,
  type ProcessEnd,
} from './container-process.js';
import { engineStep } from './engine-step.js';
import type { PlannedCommand } from './exec-command.js';
import { pause } from './pause.js';
import type { WarmStarts } from './pool/warm-starts.js';
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
  readonly onStarting: (id: ContainerId, mode: StartMode) => Promise<void>;
  readonly warm: Pick<WarmStarts, 'take' | 'giveBack' | 'discard' | 'release'>;
  /** A container that was started ahead could not be used; one is made instead. */
  readonly onUnusable: (error: unknown) => void;
  /** Aborted when nobody can wait any longer for the certain death of the container. */
  readonly abandon: AbortSignal;
  /** The container may be alive, and the engine does not remove it; it is asked again until it does. */
  readonly onUncertain: (id: ContainerId, error: unknown) => void;
  /** Work that goes on when the exec is answered; it never rejects. */
  readonly inBackground: (work: Promise<void>) => void;
  /** The container is dead but could not be removed. */
  readonly onLeftover: (id: ContainerId, error: unknown) => void;
}

export interface RunResult {
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly outOfMemory: boolean;
  readonly timedOut: boolean;
  /** It was asked to end before its time, and then ended. */
  readonly endedEarly?: boolean;
  readonly failure: string | null;
  readonly engineLost: boolean;
  readonly cpuMs: number | null;
  readonly peakMemoryBytes: number | null;
}

/** What it takes to record the end of an exec and to tell it. */
const answerMs = 25;
/** How long whoever is at something may take to end it properly, before it is ended without them. */
const politeMs = 2000;
/** After which an engine that did not kill a container is asked again. */
const killAgainMs = 1000;

/**
 * Runs one container from its creation to its certain end, and removes it whatever happens. When this
 * resolves, nothing of the container can write any more. Where the init told the end, that is so
 * because it is the last process standing, and the removal follows in the background.
 */
export async function runContainer(run: ContainerRun): Promise<RunResult> {
  const sandbox = (await takeWarm(run)) ?? (await createCold(run));
  const [ended] = await Promise.allSettled([unlessAbandoned(run.abandon, runIn(run, sandbox))]);
  if (ended.status === 'fulfilled' && ended.value.end === 'told' && !isGvisor(run.spec.runtime)) {
    run.inBackground(removeLater(run, sandbox));
  } else {
    sandbox.close();
    await removeSurely(run, sandbox.id);
    run.inBackground(sandbox.release());
  }
  if (ended.status === 'rejected') throw ended.reason;
  return ended.value.result;
}

/** A container that this exec, and no other, runs in. */
interface Sandbox {
  readonly id: ContainerId;
  readonly mode: StartMode;
  /** What will run the command in it. */
  readonly connect: () => Promise<ContainerProcess>;
  readonly start: () => Promise<void>;
  readonly close: () => void;
  /** To be called when it is dead; never rejects. */
  readonly release: () => Promise<void>;
}

/** One that was started ahead, with this exec's files in it; undefined when there is none. */
async function takeWarm(run: ContainerRun): Promise<Sandbox | undefined> {
  const { warm, spec } = run;
  if (!run.hasInit) return undefined;
  const taking = warm.take(spec);
  const container = await engineStep('take', run.stop, taking).catch((error: unknown) => {
    run.inBackground(taking.then((late) => late && warm.giveBack(late), ignore));
    throw error;
  });
  if (!container) return undefined;
  void container.process.expect(run.command);
  const preparing = container.prepare(spec.mounts, spec);
  try {
    await engineStep('prepare', run.stop, preparing);
    if (container.gone) throw new Error('the container died while it waited');
  } catch (error) {
    run.inBackground(preparing.catch(ignore).then(() => warm.discard(container)));
    run.stop.throwIfAborted();
    run.onUnusable(error);
    return undefined;
  }
  return {
    id: container.id,
    mode: 'warm',
    connect: () => Promise.resolve(container.process),
    start: () => Promise.resolve(),
    close: () => container.close(),
    release: () => warm.release(container),
  };
}

async function createCold(run: ContainerRun): Promise<Sandbox> {
  const { engine } = run;
  const creating = engine.create(run.spec);
  const id = await engineStep('create', run.stop, creating).catch((error: unknown) => {
    // It may still come to be, with nobody there to remove it.
    run.inBackground(creating.then((late) => removeDead(run, late), ignore));
    throw error;
  });
  let attachment: Attachment | undefined;
  return {
    id,
    mode: 'cold',
    connect: async () => {
      attachment = await engineStep('attach', run.stop, engine.attach(id));
      return run.hasInit ? underInit(attachment) : asContainerCommand(attachment);
    },
    start: () => engineStep('start', run.stop, engine.start(id)),
    close: () => attachment?.close(),
    release: () => Promise.resolve(),
  };
}

/**
 * Nothing but the init is left in it, and that waits for us to close its stream. Both that and removing cost the engine
 * more than answering costs us: whoever waits for the answer gets it first.
 */
async function removeLater(run: ContainerRun, { id, close, release }: Sandbox): Promise<void> {
  await pause(answerMs, run.abandon);
  close();
  await removeDead(run, id);
  await release();
}

/** How the command ended is known, so a container that cannot be removed yet is only in the way. */
async function removeDead({ engine, onLeftover }: ContainerRun, id: ContainerId): Promise<void> {
  await engineStep('remove', undefined, engine.remove(id)).catch((error: unknown) => onLeftover(id, error));
}

const removeAgainMs = 1000;

/** Until the engine has removed it, its processes may live on and write: an engine that is gone is waited for. */
async function removeSurely({ engine, abandon, onUncertain }: ContainerRun, id: ContainerId): Promise<void> {
  for (let told = false; ; told = true) {
    try {
      await unlessAbandoned(abandon, engineStep('remove', undefined, engine.remove(id)));
      return;
    } catch (error) {
      if (!told) onUncertain(id, error);
    }
    throwIfAbandoned(abandon);
    await pause(removeAgainMs, abandon);
    throwIfAbandoned(abandon);
  }
}

/** An engine that hangs keeps nobody from leaving. */
export async function unlessAbandoned<T>(abandon: AbortSignal, work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  let leave = ignore;
  const abandoned = new Promise<never>((_resolve, reject) => {
    leave = () => reject(new Abandoned());
  });
  abandon.addEventListener('abort', leave, { once: true });
  if (abandon.aborted) leave();
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    abandon.removeEventListener('abort', leave);
  }
}

function throwIfAbandoned(abandon: AbortSignal): void {
  if (abandon.aborted) throw new Abandoned();
}

/** The server ends before the death of a container is certain, or its results are safe: the exec is left to the next. */
export class Abandoned extends Error {}

function ignore(): void {
  // The failure was told already.
}

interface Ended {
  readonly result: RunResult;
  /** Told by the init, when nothing but itself was left; else only the engine's removal makes sure of that. */
  readonly end: 'told' | 'seen';
}

async function runIn(run: ContainerRun, sandbox: Sandbox): Promise<Ended> {
  const { engine, stop } = run;
  const { id } = sandbox;
  const process = await sandbox.connect();
  await run.onStarting(id, sandbox.mode);
  stop.throwIfAborted();
  await sandbox.start();
  const ready = process.ready();
  const deadline = startDeadline(run, process, () => engine.kill(id));
  const wait = () => {
    // An init that has told the end stays until then.
    sandbox.close();
    return engine.wait(id);
  };
  try {
    await engineStep('init', undefined, ready);
    const end = await process.run(run.command, run.outputs).catch(lostInit);
    // Asking the engine takes time too, which is not the command's; where only its container's end is known, it is.
    const isOver = end === 'lost' || end.exit !== undefined;
    const inTime = isOver && !deadline.passed();
    const result =
      end === 'lost' ? await lostResult(engine, id) : await resultOf(believed(end, run.spec.runtime), wait);
    return {
      result: { ...result, timedOut: !inTime && deadline.passed() },
      end: end !== 'lost' && end.exit && !end.notAlone ? 'told' : 'seen',
    };
  } finally {
    await deadline.cancel();
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
function believed(end: ProcessEnd, runtime: string): ProcessEnd {
  if (!isGvisor(runtime)) return end;
  const { exit, failure } = end;
  return { ...(exit && { exit }), ...(failure !== undefined && { failure }) };
}

type UntimedResult = Omit<RunResult, 'timedOut'>;

/** All that can be known when the init did not tell the end. */
async function lostResult(engine: ContainerEngine, id: ContainerId): Promise<UntimedResult> {
  const unknown = { exitCode: null, signal: null, cpuMs: null, peakMemoryBytes: null };
  try {
    await engineStep('kill', undefined, engine.kill(id));
    const { outOfMemory } = await engineStep('wait', undefined, engine.wait(id));
    const failure =
      'The sandbox ended, or could not be heard any more, before it told how its command ended.';
    return { ...unknown, outOfMemory, failure, engineLost: false };
  } catch {
    const failure = 'interrupted: the container engine was lost while this exec ran';
    return { ...unknown, outOfMemory: false, failure, engineLost: true };
  }
}

/** The engine is asked only for what the command's own end does not say. */
async function resultOf(end: ProcessEnd, wait: () => Promise<ContainerEnd>): Promise<UntimedResult> {
  const container = end.exit && end.oomKills !== undefined ? undefined : await wait();
  const exit = end.exit ?? containerExit(container);
  return {
    exitCode: exit.code,
    signal: exit.signal,
    outOfMemory: end.oomKills === undefined ? container?.outOfMemory === true : end.oomKills > 0,
    failure: end.failure ?? null,
    engineLost: false,
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

/** Ends the command when the time is up or a stop is asked for, whichever comes first. */
function startDeadline(
  { timeoutMs, stop, abandon }: ContainerRun,
  process: ContainerProcess,
  killContainer: () => Promise<void>,
) {
  let over = false;
  let tellOver = ignore;
  const isOver = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  let timedOut = false;
  let killing: Promise<void> | undefined;

  const end = async () => {
    const asked = await process.kill();
    if (asked) await settledWithin(politeMs, isOver);
    while (!over && !abandon.aborted) {
      // It may be in trouble for a moment; what it never kills never ends.
      await engineStep('kill', undefined, killContainer()).catch(ignore);
      await settledWithin(killAgainMs, isOver);
    }
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
      over = true;
      tellOver();
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
      // What could not be killed is removed by force next, which says so if it fails too.
      await killing?.catch(() => undefined);
    },
  };
}
