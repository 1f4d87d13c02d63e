import Docker from 'dockerode';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { SecboxError } from '@secbox/contracts';
import type {
  Attachment,
  ContainerEnd,
  ContainerEngine,
  ContainerId,
  ContainerLimits,
  ContainerSpec,
  EngineImage,
  EngineInfo,
  OwnedContainer,
  StartedContainer,
} from './container-engine.js';
import { demultiplex } from './demultiplex.js';
import { createOptions } from './dockerode-create.js';
import type { EngineEndpoint } from './endpoint.js';
import { imageOf, infoOf, purposeOf, stateIn, type InfoAnswer } from './engine-answers.js';
import { changedLimitsOf, labels, type EngineHardening } from './hardening.js';
import { readStarts } from './start-events.js';
import { unlessMissingRuntime } from './missing-runtime.js';
import { questionMs } from './question.js';

/** Talks to the engine's HTTP API. */
export class DockerodeEngine implements ContainerEngine {
  readonly #docker: Docker;
  /** For questions, to which a silent engine loses the connection. */
  readonly #asked: Docker;
  readonly #seccompProfile: string;

  constructor(endpoint: EngineEndpoint, { seccompProfile }: EngineHardening) {
    this.#docker = new Docker({ ...noEnvironment, ...endpoint });
    this.#asked = new Docker({ ...noEnvironment, ...endpoint, timeout: questionMs });
    this.#seccompProfile = seccompProfile;
  }

  async info(): Promise<EngineInfo> {
    const calls = [this.#asked.info() as Promise<InfoAnswer>, this.#asked.version()] as const;
    return infoOf(...(await told('info', inTime(Promise.all(calls)))));
  }

  async findImage(reference: string): Promise<EngineImage | undefined> {
    const found = told('image inspect', inTime(this.#asked.getImage(reference).inspect()));
    const image = await unless([404], found);
    return image && imageOf(image);
  }

  async create(spec: ContainerSpec): Promise<ContainerId> {
    const creating = this.#docker.createContainer(createOptions(spec, this.#seccompProfile));
    const container = await unlessMissingRuntime(told('create', creating));
    return container.id;
  }

  async attach(id: ContainerId): Promise<Attachment> {
    const options = { stream: true, stdin: true, stdout: true, stderr: true, hijack: true };
    const socket = (await told('attach', this.#docker.getContainer(id).attach(options))) as Duplex;
    // A reset connection reaches whoever reads the output; a write after it must not end the process.
    socket.on('error', () => undefined);
    return {
      input: socket,
      output: demultiplex(socket as AsyncIterable<Buffer>),
      close: () => socket.destroy(),
    };
  }

  async start(id: ContainerId): Promise<void> {
    await unlessMissingRuntime(told('start', this.#docker.getContainer(id).start()));
  }

  async setLimits(id: ContainerId, limits: ContainerLimits): Promise<void> {
    const { memoryBytes, nanoCpus, pids } = changedLimitsOf(limits);
    const update = { Memory: memoryBytes, MemorySwap: memoryBytes, NanoCpus: nanoCpus, PidsLimit: pids };
    await told('update', this.#docker.getContainer(id).update(update));
  }

  async wait(id: ContainerId): Promise<ContainerEnd> {
    const exitCode = await told('wait', this.#waitUntil('not-running', id));
    const { State } = await told('inspect', this.#docker.getContainer(id).inspect());
    return { exitCode, outOfMemory: State.OOMKilled };
  }

  async kill(id: ContainerId): Promise<void> {
    const killed = told('kill', this.#docker.getContainer(id).kill({ signal: 'SIGKILL' }));
    // Gone, or not running.
    await unless([404, 409], killed);
  }

  async remove(id: ContainerId): Promise<void> {
    const removing = told('remove', this.#docker.getContainer(id).remove({ force: true, v: true }));
    try {
      await unless([404], removing);
    } catch (error) {
      // Another call is at it, and is waited for: what is removed must be gone.
      if (statusOf(error) !== 409) throw error;
      await unless([404], told('wait', this.#waitUntil('removed', id)));
    }
  }

  async listOwned(dataDir: string): Promise<OwnedContainer[]> {
    const filters = { label: [labels.ours, `${labels.dataDir}=${dataDir}`] };
    const found = await told('list', inTime(this.#asked.listContainers({ all: true, filters })));
    return found.map((container) => ({
      id: container.Id,
      execId: container.Labels[labels.execId] ?? '',
      purpose: purposeOf(container.Labels[labels.ours]),
      ...stateIn(container.State),
    }));
  }

  async watchStarts(
    dataDir: string,
    since: Date,
    signal: AbortSignal,
  ): Promise<AsyncIterable<StartedContainer>> {
    const filters = {
      type: ['container'],
      event: ['start'],
      label: [labels.ours, `${labels.dataDir}=${dataDir}`],
    };
    const events = this.#docker.getEvents({
      filters: JSON.stringify(filters),
      since: since.getTime() / 1000,
      // As long as the engine has not begun to answer; then it is the stream that ends.
      abortSignal: signal,
    });
    const stream = (await told('events', events)) as Readable;
    signal.addEventListener('abort', () => stream.destroy(), { once: true });
    if (signal.aborted) stream.destroy();
    return readStarts(stream as AsyncIterable<Buffer>, dataDir);
  }

  /** Read as a stream: dockerode's own call never ends when the connection is lost after the answer began. */
  async #waitUntil(condition: 'not-running' | 'removed', id: ContainerId): Promise<number> {
    const answer = await new Promise<Readable>((resolve, reject) => {
      const call = {
        path: `/containers/${id}/wait?`,
        method: 'POST',
        options: { condition },
        isStream: true,
        statusCodes: { 200: true, 404: 'no such container' },
      };
      (this.#docker.modem as Modem).dial(call, (error, stream) =>
        stream === null ? reject(error ?? new Error('no answer')) : resolve(stream),
      );
    });
    const text = (await answer.toArray()).join('');
    // An engine that is shut down ends the answer before there is one.
    if (text === '') throw Object.assign(new Error('The answer ended early.'), { code: 'ECONNRESET' });
    return (JSON.parse(text) as { StatusCode: number }).StatusCode;
  }
}

/** dockerode fills what is left out from DOCKER_HOST and its like: only our caller says which engine. */
const noEnvironment = {
  socketPath: undefined,
  host: undefined,
  port: undefined,
  protocol: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
  timeout: undefined,
  pathPrefix: '/',
};

/** The part of docker-modem that we use; dockerode leaves it untyped. */
interface Modem {
  dial(call: object, answered: (error: Error | null, stream: Readable | null) => void): void;
}

const unreachable = [
  'ECONNREFUSED',
  'ENOENT',
  'ECONNRESET',
  'EPIPE',
  'EACCES',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
];

/** An engine that cannot be reached is told apart from one that refuses. */
async function told<T>(call: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const { code, statusCode } = error as { code?: string; statusCode?: number };
    if (statusCode === undefined && code !== undefined && unreachable.includes(code)) {
      throw new SecboxError(
        'engine_unavailable',
        `The container engine does not answer (${call}: ${code}).`,
        {
          cause: error,
        },
      );
    }
    throw error;
  }
}

/** dockerode does not tell when a connection is lost after the answer began, so its own bound is not enough. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = new AbortController();
  const bound = pause(questionMs, undefined, { signal: late.signal }).then(() => {
    throw Object.assign(new Error('The answer is late.'), { code: 'ETIMEDOUT' });
  });
  try {
    return await Promise.race([answer, bound]);
  } finally {
    late.abort();
  }
}

/** Undefined where the engine refuses with one of these statuses. */
async function unless<T>(statuses: readonly number[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statuses.includes(statusOf(error) ?? 0)) return undefined;
    throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number }).statusCode;
}
