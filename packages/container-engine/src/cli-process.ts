import {
  spawn,
  type ChildProcessByStdio,
  type ChildProcessWithoutNullStreams,
  type SpawnOptions,
} from 'node:child_process';
import type { Readable } from 'node:stream';
import { cliFailure, lateAnswer, programFailure } from './cli-failure.js';

/** The docker program, and all that it knows of its surroundings. */
export interface DockerCli {
  /** A path, or a name that is looked for in the PATH of `environment`. */
  readonly program: string;
  /** Its whole environment: DOCKER_HOST, which names the engine, and what the platform needs, such as PATH. */
  readonly environment: Readonly<Record<string, string>>;
}

/** A command's name and its arguments. */
export type CliCommand = readonly [name: string, ...args: string[]];

/** How a child ended; `error` when it could not even be started. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly error?: unknown;
}

const mebibyte = 1024 ** 2;

/** The longest answers are lists of containers; thousands of them fit. */
const answerBytes = 8 * mebibyte;
const messageBytes = 16 * 1024;

/** Starts the docker program: never through a shell, and never with an environment that it was not given. */
export class DockerProgram {
  readonly #cli: DockerCli;

  constructor(cli: DockerCli) {
    this.#cli = cli;
  }

  /** Runs a command to its end and gives what it printed; `more` is added to its environment. */
  answer(command: CliCommand, more: Readonly<Record<string, string>> = {}): Promise<string> {
    return this.#run(command, this.#options(more));
  }

  /** An answer that is there in time, or an engine that is not. */
  async answerWithin(ms: number, command: CliCommand): Promise<string> {
    const late = AbortSignal.timeout(ms);
    try {
      return await this.#run(command, { ...this.#options({}), signal: late, killSignal: 'SIGKILL' });
    } catch (error) {
      if (!late.aborted) throw error;
      throw lateAnswer(command[0], ms);
    }
  }

  async #run(command: CliCommand, options: SpawnOptions): Promise<string> {
    const [call] = command;
    const child: ChildProcessByStdio<null, Readable, Readable> = started(call, () =>
      spawn(this.#cli.program, command, { ...options, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    const stdout = gather(child.stdout, answerBytes, () => child.kill('SIGKILL'));
    const stderr = gather(child.stderr, messageBytes);
    const end = await endOf(child, 'close');
    if (end.error !== undefined) throw programFailure(call, end.error);
    if (stdout.overflowed()) throw new Error(`The answer to docker ${call} is longer than we take.`);
    if (end.code !== 0) throw cliFailure(call, end, stderr.text());
    return stdout.text();
  }

  /** Starts a command whose streams the caller handles. */
  stream(command: CliCommand): ChildProcessWithoutNullStreams {
    return started(command[0], () =>
      spawn(this.#cli.program, command, { ...this.#options({}), stdio: 'pipe' }),
    );
  }

  #options(more: Readonly<Record<string, string>>): SpawnOptions {
    return {
      env: { ...this.#cli.environment, ...more },
      shell: false,
      windowsHide: true,
      // A session of its own: Ctrl-C on our terminal asks us to end in order, which needs these children,
      // and an attached docker program would hand the signal on to the container.
      detached: true,
    };
  }
}

/** Settles when the child is over: on `exit` its streams may still hold output, on `close` they do not. */
export function endOf(
  child: ChildProcessByStdio<null, Readable, Readable> | ChildProcessWithoutNullStreams,
  event: 'exit' | 'close',
): Promise<ChildEnd> {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      // Also told when a signal could not be sent; then the child goes on, and its end is still to come.
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    child.once(event, (code: number | null, signal: NodeJS.Signals | null) => resolve({ code, signal }));
  });
}

/** What a child prints until its end, which must be a good one unless it was asked for. */
export async function* outputOf(
  child: ChildProcessWithoutNullStreams,
  call: string,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const ended = endOf(child, 'close');
  const message = gather(child.stderr, messageBytes);
  yield* child.stdout as AsyncIterable<Buffer>;
  const end = await ended;
  if (signal.aborted) return;
  if (end.error !== undefined) throw programFailure(call, end.error);
  if (end.code !== 0) throw cliFailure(call, end, message.text());
}

/** What a child said on a stream that nobody else reads, as far as it makes a message. */
export async function messageOf(source: Readable): Promise<string> {
  const kept: Buffer[] = [];
  let size = 0;
  for await (const data of source as AsyncIterable<Buffer>) {
    kept.push(data);
    size += data.length;
    if (size >= messageBytes) break;
  }
  return Buffer.concat(kept).toString('utf8');
}

/** Most failures to start a program are told as events, but not all: arguments too long are thrown. */
function started<T>(call: string, start: () => T): T {
  try {
    return start();
  } catch (error) {
    throw programFailure(call, error);
  }
}

/** Keeps the first bytes of a stream and lets the rest go by. */
function gather(source: Readable, limit: number, onOverflow: () => void = () => undefined) {
  const kept: Buffer[] = [];
  let size = 0;
  source.on('data', (data: Buffer) => {
    if (size < limit) kept.push(data.subarray(0, limit - size));
    size += data.length;
    if (size > limit) onOverflow();
  });
  return { text: () => Buffer.concat(kept).toString('utf8'), overflowed: () => size > limit };
}
