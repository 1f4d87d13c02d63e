import Docker from 'dockerode';
import type { Duplex } from 'node:stream';
import { SecboxError } from '@secbox/contracts';
import type {
  Attachment,
  ContainerEnd,
  ContainerEngine,
  ContainerId,
  ContainerSpec,
  EngineImage,
  EngineInfo,
  OwnedContainer,
} from './container-engine.js';
import { demultiplex } from './demultiplex.js';
import { createOptions } from './dockerode-create.js';
import type { EngineEndpoint } from './endpoint.js';
import { labels, type EngineHardening } from './hardening.js';

/** Talks to the engine's HTTP API. */
export class DockerodeEngine implements ContainerEngine {
  readonly #docker: Docker;
  readonly #seccompProfile: string;

  constructor(endpoint: EngineEndpoint, { seccompProfile }: EngineHardening) {
    this.#docker = new Docker(endpoint);
    this.#seccompProfile = seccompProfile;
  }

  async info(): Promise<EngineInfo> {
    const [facts, version] = await told(
      'info',
      Promise.all([this.#docker.info() as Promise<InfoAnswer>, this.#docker.version()]),
    );
    return {
      version: version.Version,
      apiVersion: version.ApiVersion,
      operatingSystem: facts.OperatingSystem,
      cpus: facts.NCPU,
      memoryBytes: facts.MemTotal,
      runtimes: Object.keys(facts.Runtimes ?? {}),
    };
  }

  async findImage(reference: string): Promise<EngineImage | undefined> {
    const image = await unlessMissing(told('image inspect', this.#docker.getImage(reference).inspect()));
    return image && imageOf(image);
  }

  async create(spec: ContainerSpec): Promise<ContainerId> {
    const container = await told(
      'create',
      this.#docker.createContainer(createOptions(spec, this.#seccompProfile)),
    );
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
    await told('start', this.#docker.getContainer(id).start());
  }

  async wait(id: ContainerId): Promise<ContainerEnd> {
    const container = this.#docker.getContainer(id);
    const { StatusCode } = (await told('wait', container.wait({ condition: 'not-running' }))) as {
      StatusCode: number;
    };
    const { State } = await told('inspect', container.inspect());
    return { exitCode: StatusCode, outOfMemory: State.OOMKilled };
  }

  async kill(id: ContainerId): Promise<void> {
    await unlessOver(told('kill', this.#docker.getContainer(id).kill({ signal: 'SIGKILL' })));
  }

  async remove(id: ContainerId): Promise<void> {
    await unlessOver(told('remove', this.#docker.getContainer(id).remove({ force: true, v: true })));
  }

  async listOwned(dataDir: string): Promise<OwnedContainer[]> {
    const filters = { label: [labels.ours, `${labels.dataDir}=${dataDir}`] };
    const found = await told('list', this.#docker.listContainers({ all: true, filters }));
    return found.map((container) => ({
      id: container.Id,
      execId: container.Labels[labels.execId] ?? '',
      running: container.State === 'running',
    }));
  }
}

/** The part of the engine's info that we use; dockerode leaves it untyped. */
interface InfoAnswer {
  readonly OperatingSystem: string;
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
}

/** The engine says null where an image has no labels or no variables, and dockerode's types do not. */
function imageOf({ Id, Config }: { Id: string; Config: unknown }): EngineImage {
  const { Labels, Env } = Config as { Labels?: Record<string, string> | null; Env?: string[] | null };
  return {
    id: Id,
    labels: Labels ?? {},
    environment: Object.fromEntries((Env ?? []).map((entry) => splitOnce(entry, '='))),
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

const unreachable = ['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE', 'EACCES', 'ETIMEDOUT', 'EHOSTUNREACH'];

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

async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** 404: gone. 409: not running, or its removal is under way. Both are what was asked for. */
async function unlessOver(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error;
  }
}

function statusOf(error: unknown): number | undefined {
  return (error as { statusCode?: number }).statusCode;
}
