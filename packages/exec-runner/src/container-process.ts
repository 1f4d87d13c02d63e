import {
  describeStartFailure,
  InitSession,
  shellExitCode,
  type Attachment,
  type InitExit,
  type InitRequest,
  type OutputChunk,
} from '@secbox/container-engine';
import type { OutputFile } from './output-file.js';
import type { PlannedCommand } from './exec-command.js';

export type Outputs = Readonly<Record<OutputChunk['stream'], OutputFile>>;

/** How the command ended, as far as whoever ran it in the container could tell. */
export interface ProcessEnd {
  /** Undefined where the container's own end is all there is to know. */
  readonly exit?: { readonly code: number | null; readonly signal: number | null };
  /** Something else of the container may still be at work. */
  readonly notAlone?: boolean;
  readonly failure?: string;
  readonly oomKills?: number;
  readonly cpuMs?: number;
  readonly peakMemoryBytes?: number;
}

/** The command inside a container that has been started. */
export interface ContainerProcess {
  /** It can run nothing, or nothing more. */
  readonly gone: boolean;
  /** Settles when the command can be given to it. */
  ready(): Promise<unknown>;
  /** As {@link ready}, and what was to be started ahead is, or never will be. */
  warm(): Promise<unknown>;
  /** To be called when the command is known and not given to it yet: what was started ahead for others ends. */
  expect(command: PlannedCommand): Promise<void>;
  run(command: PlannedCommand, outputs: Outputs): Promise<ProcessEnd>;
  /** Asks it to end the command; true when it could be asked. */
  kill(): Promise<boolean>;
}

/** What is to end does not wait for room on a disk, also when that was said before it began. */
class Hurry {
  #outputs: Outputs | undefined;
  #isToEnd = false;

  begin(outputs: Outputs): void {
    this.#outputs = outputs;
    if (this.#isToEnd) this.end();
  }

  end(): void {
    this.#isToEnd = true;
    this.#outputs?.stdout.hurry();
    this.#outputs?.stderr.hurry();
  }
}

/** What is asked of an init beside its command. */
export interface InitUse {
  /** With which signal the command is ended, and what it then has until it is killed. */
  readonly kill?: { readonly signal: number; readonly graceMs: number };
  readonly rlimits?: InitRequest['rlimits'];
}

const atOnce = { signal: 9, graceMs: 0 } as const;

/** What the init starts ahead serves these, if any. */
const startedAhead: ReadonlySet<string> = new Set(['python', 'python3']);

/**
 * Under our init: the command, its environment and its stdin travel in band, and its end is told the same way. The init
 * stays, alone, until the attachment is closed.
 */
export function underInit(
  attachment: Attachment,
  { kill = atOnce, rlimits = {} }: InitUse = {},
): ContainerProcess {
  const session = new InitSession({
    output: stdoutOf(attachment),
    write: (bytes) => write(attachment, bytes),
    close: () => undefined,
  });
  const hurry = new Hurry();
  return {
    get gone() {
      return session.gone;
    },
    ready: () => session.ready(),
    warm: () => session.warm(),
    expect: async ({ command }) => {
      if (!startedAhead.has(command)) await session.clear();
    },
    run: async (command, outputs) => {
      hurry.begin(outputs);
      const outcome = await session.run(
        { argv: [command.command, ...command.args], cwd: command.cwd, env: command.environment, rlimits },
        { stdout: (data) => outputs.stdout.append(data), stderr: (data) => outputs.stderr.append(data) },
        command.stdin === '' ? undefined : chunksOf(Buffer.from(command.stdin)),
      );
      if (outcome.kind === 'ended') return endOf(outcome.exit);
      return {
        exit: { code: shellExitCode(outcome) ?? null, signal: null },
        failure: describeStartFailure(outcome),
      };
    },
    kill: async () => {
      hurry.end();
      await session.kill(kill.signal, kill.graceMs);
      return !session.gone;
    },
  };
}

/** For images without our init: the command is the container's own, and so is its end. */
export function asContainerCommand(attachment: Attachment): ContainerProcess {
  const hurry = new Hurry();
  return {
    gone: false,
    ready: () => Promise.resolve(),
    warm: () => Promise.resolve(),
    expect: () => Promise.resolve(),
    run: async (command, outputs) => {
      hurry.begin(outputs);
      attachment.input.end(command.stdin);
      for await (const { stream, data } of attachment.output) await outputs[stream].append(data);
      return {};
    },
    kill: () => {
      hurry.end();
      return Promise.resolve(false);
    },
  };
}

function endOf({ end, alone, oomKills, cpuMicros, peakBytes }: InitExit): ProcessEnd {
  return {
    ...(alone ? {} : { notAlone: true }),
    exit:
      end.kind === 'exited'
        ? { code: end.code, signal: null }
        : { code: 128 + end.signal, signal: end.signal },
    ...(oomKills === undefined ? {} : { oomKills }),
    ...(cpuMicros === undefined ? {} : { cpuMs: Math.round(cpuMicros / 1000) }),
    ...(peakBytes === undefined ? {} : { peakMemoryBytes: peakBytes }),
  };
}

/** The init speaks on stdout only; what the runtime may say on stderr is not the command's. */
async function* stdoutOf(attachment: Attachment): AsyncGenerator<Buffer> {
  for await (const { stream, data } of attachment.output) if (stream === 'stdout') yield data;
}

function write({ input }: Attachment, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    input.write(bytes, (error) => {
      if (error) reject(error);
      else resolve();
    });
  });
}

function* slices(data: Buffer): Generator<Buffer> {
  const size = 64 * 1024;
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}

async function* chunksOf(data: Buffer): AsyncGenerator<Buffer> {
  for (const slice of slices(data)) yield await Promise.resolve(slice);
}
