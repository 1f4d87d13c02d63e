import {
  initPath,
  type Attachment,
  type ContainerEngine,
  type ContainerLimits,
  type ContainerSpec,
  type Prestart,
} from '@secbox/container-engine';
import type { PolicySnapshot } from '@secbox/contracts';
import type { Slot, Slots } from '@secbox/host-mounts';
import { newSlotId, type Workspace, type WorkspaceMounts } from '@secbox/workspace';
import { underInit, type ContainerProcess } from '../container-process.js';
import { createInTime, engineStep } from '../engine-step.js';

/** What containers of the pool are made of. */
export interface WarmSpec extends ContainerLimits {
  readonly imageId: string;
  readonly runtime: string;
  readonly readOnlyRoot: boolean;
  readonly maxFileBytes: number;
  /** What its init starts before anybody asks for it. */
  readonly prestart?: Prestart;
}

/** What a policy makes of a container, whether it is started ahead or not. */
export function warmSpecOf(
  { values, runtime }: Pick<PolicySnapshot, 'values' | 'runtime'>,
  image: { readonly id: string },
  disk: { readonly maxFileBytes: (maxArtifactsBytes: number) => number },
): WarmSpec {
  return {
    imageId: image.id,
    runtime: runtime.value,
    memoryBytes: values.memory_mb * 1024 ** 2,
    cpus: values.cpu_cores,
    pids: values.pids,
    readOnlyRoot: values.read_only_root,
    maxFileBytes: disk.maxFileBytes(values.max_artifacts_bytes_total),
  };
}

export interface WarmParts {
  readonly engine: ContainerEngine;
  readonly slots: Slots;
  readonly workspace: Pick<Workspace, 'slotMounts'>;
  readonly dataDir: string;
}

/** An engine that works needs no such time for a step; whoever waits for this container can still make one of their own. */
const stepMs = 15_000;
const step = <T>(name: string, call: Promise<T>) => engineStep(name, undefined, call, stepMs);

/** A container whose init waits for its one request, and that sees nobody's files until it is filled. */
export class WarmContainer {
  readonly id: string;
  readonly spec: WarmSpec;
  readonly process: ContainerProcess;
  readonly startedAt = performance.now();
  readonly #parts: WarmParts;
  readonly #slot: Slot;
  readonly #attachment: Attachment;

  private constructor(parts: WarmParts, spec: WarmSpec, id: string, slot: Slot, attachment: Attachment) {
    this.#parts = parts;
    this.spec = spec;
    this.id = id;
    this.#slot = slot;
    this.#attachment = attachment;
    this.process = underInit(attachment);
  }

  /** `onCreated` hears of the container before it is started. */
  static async start(
    parts: WarmParts,
    spec: WarmSpec,
    onCreated: (id: string) => void,
  ): Promise<WarmContainer> {
    const { engine, slots, workspace, dataDir } = parts;
    const slot = await slots.make(newSlotId());
    let id: string | undefined;
    let container: WarmContainer | undefined;
    try {
      const asked: ContainerSpec = {
        ...spec,
        command: [initPath],
        environment: {},
        workingDirectory: '/',
        mounts: workspace.slotMounts(slot.id),
        mountPropagation: 'rslave',
        owner: { purpose: 'pool', dataDir },
      };
      id = await createInTime(engine, asked, stepMs);
      onCreated(id);
      container = new WarmContainer(parts, spec, id, slot, await step('attach', engine.attach(id)));
      const ready = container.process.warm();
      // Who fails to start it hears of that, and not of this.
      ready.catch(() => undefined);
      await step('start', engine.start(id));
      await step('init', ready);
      return container;
    } catch (error) {
      container?.close();
      // What the engine does not remove now is nobody's, and found by the sweep.
      if (id !== undefined) await step('remove', engine.remove(id)).catch(() => undefined);
      await slot.remove().catch(() => undefined);
      throw error;
    }
  }

  /** It died, or can be heard no more. */
  get gone(): boolean {
    return this.process.gone;
  }

  /** Shows it the folders of the exec that took it, under that exec's limits. */
  async prepare(folders: WorkspaceMounts, limits: ContainerLimits): Promise<void> {
    if (!hasLimits(this.spec, limits)) await step('update', this.#parts.engine.setLimits(this.id, limits));
    await this.#slot.fill(folders);
  }

  /** Lets go of its streams. */
  close(): void {
    this.#attachment.close();
  }

  /** Takes the folders out of its reach; to be called when it is dead. */
  async release(): Promise<void> {
    await this.#slot.remove();
  }

  /** For one that ran nothing. */
  async remove(): Promise<void> {
    this.close();
    await step('remove', this.#parts.engine.remove(this.id));
    await this.release();
  }
}

export function limitsOf({ memoryBytes, cpus, pids }: ContainerLimits): ContainerLimits {
  return { memoryBytes, cpus, pids };
}

export function hasLimits(spec: ContainerLimits, limits: ContainerLimits): boolean {
  return (['memoryBytes', 'cpus', 'pids'] as const).every((name) => limits[name] === spec[name]);
}

/** Whether one that waits is as one that would be started now, but for its limits. */
export function isAsUsual(spec: WarmSpec, usual: WarmSpec): boolean {
  return serves(spec, usual) && spec.prestart === usual.prestart;
}

/** Whether an exec that asks for this can run in a container of that kind: its limits can be given to it later. */
export function serves(spec: WarmSpec, asked: Omit<WarmSpec, keyof ContainerLimits>): boolean {
  return (['imageId', 'runtime', 'readOnlyRoot', 'maxFileBytes'] as const).every(
    (name) => spec[name] === asked[name],
  );
}
