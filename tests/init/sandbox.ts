import { once } from 'node:events';
import { tmpdir } from 'node:os';
import type { Duplex } from 'node:stream';
import { demultiplex } from '../../packages/container-engine/src/demultiplex.js';
import type { InitRequest } from '../../packages/container-engine/src/init/encode-request.js';
import type { InitChannel } from '../../packages/container-engine/src/init/init-channel.js';
import { type InitOutcome, InitSession } from '../../packages/container-engine/src/init/init-session.js';
import type { StartKind } from '../../packages/container-engine/src/init/protocol.js';
import { EngineClient } from './engine-client.js';

export interface SandboxOptions {
  readonly memoryMb?: number;
  readonly pids?: number;
  readonly command?: readonly string[];
  /** `none`: what the engine's own profile would forbid is tried as well. */
  readonly seccomp?: 'engine' | 'none';
  readonly env?: readonly string[];
  /** A folder of the host, seen as /folder. */
  readonly folder?: string;
}

export const image = process.env['SECBOX_TEST_IMAGE'] ?? 'secbox/sandbox:latest';
export const path = '/usr/local/bin:/usr/bin:/bin';

/** Has a python started before there is a request for it. */
export const prestarting = ['/sbin/secbox-init', '--prestart=python'];

/** The variables of the image: what every exec has, and what a python that is started ahead came up with. */
export async function imageEnvironment(): Promise<Record<string, string>> {
  const answer = await new EngineClient().call('GET', `/images/${image}/json`);
  const { Env } = (answer as { Config: { Env: string[] } }).Config;
  return Object.fromEntries(Env.map((entry) => entry.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** A container whose PID 1 is the init of the image, attached and started. */
export class Sandbox implements InitChannel {
  readonly #engine: EngineClient;
  readonly #socket: Duplex;
  readonly output: AsyncIterable<Buffer>;
  /** What init wrote to its own stderr: nothing, when all is well. */
  diagnostics = '';

  private constructor(
    engine: EngineClient,
    readonly id: string,
    socket: Duplex,
  ) {
    this.#engine = engine;
    this.#socket = socket;
    socket.on('error', () => undefined);
    this.output = this.#stdout();
  }

  static async start(options: SandboxOptions = {}): Promise<Sandbox> {
    const engine = new EngineClient();
    const { Id: id } = (await engine.call('POST', '/containers/create', configOf(options))) as { Id: string };
    try {
      const sandbox = new Sandbox(engine, id, await engine.attach(id));
      await engine.call('POST', `/containers/${id}/start`);
      return sandbox;
    } catch (error) {
      await engine.remove(id);
      throw error;
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** The same channel, of which nothing that a session does closes either direction. */
  held(): InitChannel {
    const source = this.output[Symbol.asyncIterator]();
    return {
      output: { [Symbol.asyncIterator]: () => ({ next: () => source.next() }) },
      write: (bytes) => this.write(bytes),
      close: () => undefined,
    };
  }

  /** Half-closes: init sees end of file, and what it still says can be read. */
  close(): void {
    this.#socket.end();
  }

  /** The host is gone from one moment to the next. */
  async vanish(): Promise<void> {
    this.#socket.destroy();
    if (!this.#socket.closed) await once(this.#socket, 'close');
  }

  /** Init's own exit status. */
  async end(): Promise<number> {
    const answer = await this.#engine.call('POST', `/containers/${this.id}/wait?condition=not-running`);
    return (answer as { StatusCode: number }).StatusCode;
  }

  async update(limits: Readonly<Record<string, number>>): Promise<void> {
    await this.#engine.call('POST', `/containers/${this.id}/update`, limits);
  }

  /** Puts a process into the container from outside, as an operator might. */
  async enter(user: string, argv: readonly string[]): Promise<void> {
    const config = { Cmd: argv, User: user };
    const { Id: id } = (await this.#engine.call('POST', `/containers/${this.id}/exec`, config)) as {
      Id: string;
    };
    await this.#engine.call('POST', `/exec/${id}/start`, { Detach: true });
  }

  /** The command lines of what lives in the container. */
  async top(): Promise<readonly string[]> {
    const answer = await this.#engine.call('GET', `/containers/${this.id}/top?ps_args=-eo%20pid,args`);
    return (answer as { Processes: string[][] }).Processes.map((columns) => columns.slice(1).join(' '));
  }

  async isRunning(): Promise<boolean> {
    const answer = await this.#engine.call('GET', `/containers/${this.id}/json`);
    return (answer as { State: { Running: boolean } }).State.Running;
  }

  async remove(): Promise<void> {
    this.#socket.destroy();
    await this.#engine.remove(this.id);
  }

  async *#stdout(): AsyncGenerator<Buffer> {
    for await (const { stream, data } of demultiplex(this.#socket as AsyncIterable<Buffer>)) {
      if (stream === 'stdout') yield data;
      else this.diagnostics += data.toString('utf8');
    }
  }
}

/** Ends the container whatever happens. */
export async function withSandbox<T>(
  options: SandboxOptions,
  use: (sandbox: Sandbox) => Promise<T>,
): Promise<T> {
  const sandbox = await Sandbox.start(options);
  try {
    return await use(sandbox);
  } finally {
    await sandbox.remove();
  }
}

export interface Ran {
  readonly outcome: InitOutcome;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly start: StartKind | undefined;
  /** From the request to init's last frame. */
  readonly millis: number;
}

export type Asked = Partial<Omit<InitRequest, 'argv' | 'streamsStdin'>> & {
  readonly stdin?: AsyncIterable<Uint8Array>;
  readonly sandbox?: SandboxOptions;
  /** Init is not let go of at the end, so that one can look at what is left. */
  readonly held?: boolean;
};

/** Runs one command in one container, as the runner does. */
export async function run(argv: readonly string[], asked: Asked = {}): Promise<Ran> {
  return withSandbox(asked.sandbox ?? {}, (sandbox) => runIn(sandbox, argv, asked));
}

export async function runIn(sandbox: Sandbox, argv: readonly string[], asked: Asked = {}): Promise<Ran> {
  const session = new InitSession(asked.held === true ? sandbox.held() : sandbox);
  const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const keep = (stream: 'stdout' | 'stderr') => (data: Buffer) => void parts[stream].push(Buffer.from(data));
  await session.ready();
  const begun = performance.now();
  const { stdin, cwd = '/', env = { PATH: path }, umask = 0o022, rlimits = {} } = asked;
  const request = { argv, cwd, env, umask, rlimits };
  let start: StartKind | undefined;
  const started = (_pid: number, kind: StartKind) => void (start = kind);
  const sinks = { stdout: keep('stdout'), stderr: keep('stderr'), started };
  const outcome = await session.run(request, sinks, stdin);
  const millis = performance.now() - begun;
  if (sandbox.diagnostics !== '') throw new Error(`Init said: ${sandbox.diagnostics}`);
  return { outcome, start, millis, stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}

function configOf(options: SandboxOptions): unknown {
  const memory = (options.memoryMb ?? 256) * 1024 * 1024;
  return {
    Image: image,
    Entrypoint: [],
    Cmd: options.command ?? ['/sbin/secbox-init'],
    Env: options.env ?? [],
    User: '1000:1000',
    Labels: { secbox: 'test', 'secbox.data_dir': tmpdir() },
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    OpenStdin: true,
    StdinOnce: true,
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges', ...(options.seccomp === 'none' ? ['seccomp=unconfined'] : [])],
      ReadonlyRootfs: true,
      Tmpfs: { '/tmp': 'rw,exec,nosuid,nodev,size=268435456,mode=1777' },
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: options.pids ?? 64,
      Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
      Mounts:
        options.folder === undefined
          ? []
          : [{ Type: 'bind', Source: options.folder, Target: '/folder', ReadOnly: false }],
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}
