import type { Writable } from 'node:stream';
import type { WorkspaceMounts } from '@secbox/workspace';

/** What we ask of an engine, in our words: an adapter turns it into the engine's own. */
export interface ContainerEngine {
  /** Fails with `engine_unavailable` when the engine does not answer. */
  info(): Promise<EngineInfo>;
  /** Undefined when the engine does not have the image. */
  findImage(reference: string): Promise<EngineImage | undefined>;
  /** Creates a hardened container; everything that is not in the spec is closed. */
  create(spec: ContainerSpec): Promise<ContainerId>;
  /** To be called before {@link start}, so that no output is missed. */
  attach(id: ContainerId): Promise<Attachment>;
  start(id: ContainerId): Promise<void>;
  /** Changes the limits of a container that runs, all of them. */
  setLimits(id: ContainerId, limits: ContainerLimits): Promise<void>;
  /** Resolves once the container is dead; to be called after {@link start}. */
  wait(id: ContainerId): Promise<ContainerEnd>;
  /** Ends every process of the container; fine when it is dead or gone already. */
  kill(id: ContainerId): Promise<void>;
  /** Removes the container, dead or alive; fine when it is gone already. */
  remove(id: ContainerId): Promise<void>;
  /** Containers of ours, of any state, that belong to this data folder. */
  listOwned(dataDir: string): Promise<OwnedContainer[]>;
  /**
   * Every container with the label of this data folder that the engine starts, whoever asked it to, from a
   * moment on as far as the engine remembers. Ends when the engine does, or with the signal, also before an answer.
   */
  watchStarts(dataDir: string, since: Date, signal: AbortSignal): Promise<AsyncIterable<StartedContainer>>;
}

export type ContainerId = string;

export interface EngineInfo {
  readonly version: string;
  readonly apiVersion: string;
  readonly operatingSystem: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  /** What a container gets for which none is named. */
  readonly defaultRuntime: string;
  readonly runtimes: readonly EngineRuntime[];
}

export interface EngineRuntime {
  readonly name: string;
  /** What the engine starts it with. */
  readonly args: readonly string[];
}

export interface EngineImage {
  /** The content address by which execs name the image, so that a moved tag changes nothing underway. */
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The variables that the image sets for what runs in it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What a container may use; can be changed while it runs. */
export interface ContainerLimits {
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly pids: number;
}

export interface ContainerSpec extends ContainerLimits {
  readonly imageId: string;
  /** Named always: an engine's default may change, and what was recorded must be what runs. */
  readonly runtime: string;
  readonly command: readonly string[];
  /**
   * What the init, which must then be the whole command, starts before it has a request, so that one for it
   * finds it up. Only for images that offer it: see `offersPrestart`.
   */
  readonly prestart?: Prestart;
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string;
  readonly mounts: WorkspaceMounts;
  /** `rslave`: what the host mounts on these folders later appears inside, never the other way; by default nothing does. */
  readonly mountPropagation?: MountPropagation;
  readonly readOnlyRoot: boolean;
  /** The longest that a file may become, wherever it lies. */
  readonly maxFileBytes: number;
  readonly owner: ContainerOwner;
}

export type MountPropagation = 'rprivate' | 'rslave';
export type Prestart = 'python';

/** Carried as labels, so that whoever finds the container knows whose it is. */
export interface ContainerOwner {
  readonly purpose: ContainerPurpose;
  /** Absent when the container is for no exec, or not yet. */
  readonly execId?: string;
  readonly dataDir: string;
}

/**
 * `exec`: made for one exec. `pool`: made ahead, for whichever takes it. `self-test`: made to find out what this
 * engine can do, and runs nothing of a caller's.
 */
export type ContainerPurpose = 'exec' | 'pool' | 'self-test';

export interface OwnedContainer {
  readonly id: ContainerId;
  readonly execId: string;
  /** As its label says; undefined when that says nothing that we know. */
  readonly purpose: ContainerPurpose | undefined;
  readonly running: boolean;
  /** Whether anything of it surely ran: the engine started it, and is not at removing it. */
  readonly started: boolean;
}

export interface StartedContainer {
  readonly id: ContainerId;
  /** Undefined where the container names none. */
  readonly execId: string | undefined;
  /** As its label says; undefined when that says nothing that we know. */
  readonly purpose: ContainerPurpose | undefined;
  readonly at: Date;
}

export interface Attachment {
  readonly input: Writable;
  /** Reading slowly slows the program down; it ends when the container's streams have closed. */
  readonly output: AsyncIterable<OutputChunk>;
  /** Lets go of the streams without waiting for their end. */
  close(): void;
}

export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  readonly data: Buffer;
}

export interface ContainerEnd {
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}
