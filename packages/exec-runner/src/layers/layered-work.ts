import { isExecId, SecboxError, type LayerEffects, type TenantId } from '@secbox/contracts';
import type { ContainerEngine } from '@secbox/container-engine';
import type { Logger } from '@secbox/logging';
import type {
  CommitOptions,
  ExecEffects,
  HostMounts,
  SkillIdentity,
  SkillLayers,
  SkillPlace,
} from '@secbox/skill-layers';
import { Directory, within, type ExecPlace, type WorkspaceMounts, type Workspace } from '@secbox/workspace';
import { Abandoned } from '../run-container.js';
import { proveOverlays, type OverlayVerdict } from './prove-overlays.js';

export interface LayeredWorkOptions {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly dataDir: string;
  readonly logger: Logger;
  readonly imageReference: string;
  readonly layersOf: (
    tenant: TenantId,
  ) => Promise<Pick<SkillLayers, 'identify' | 'beginExec' | 'commitExec' | 'abandonExec' | 'holdSandbox'>>;
  /** Those that the layers have; undefined where there are none. */
  readonly mounts: HostMounts | undefined;
  /** Hears of a skill that an exec changed. */
  readonly onChanged?: (tenant: TenantId, place: SkillPlace) => Promise<void>;
}

/** An exec whose work is a view of a skill. */
export interface LayeredExec {
  readonly mounts: WorkspaceMounts;
  readonly start: SkillIdentity;
  /** To be called when nothing of it can write any more: takes over what it did, unless stopped. Never rejects. */
  readonly end: (stop: AbortSignal) => Promise<LayerEffects>;
}

export interface LayeredTask<T> {
  readonly work: (exec: LayeredExec) => Promise<T>;
  /** Work that goes on when the exec is answered; it never rejects. */
  readonly inBackground: (work: Promise<void>) => void;
}

/** How execs get at layered skills here, and why so. */
export interface LayeredReport {
  readonly road: 'overlay' | 'copy';
  readonly why: string;
}

/** Gives execs over layered skills their view to work in, and takes over what they made of it. */
export class LayeredWork {
  readonly #options: LayeredWorkOptions;
  /** By the folder that rooms lie in. */
  readonly #cleared = new Map<string, Promise<void>>();
  #verdict: Promise<OverlayVerdict> | undefined;

  constructor(options: LayeredWorkOptions) {
    this.#options = options;
  }

  /** Whether the kernel can lay folders over each other for containers is being found out from now on. */
  begin(): void {
    this.#prove().catch(() => undefined);
  }

  async report(): Promise<LayeredReport> {
    const { works, why } = await this.#prove().catch((error: unknown) => ({
      works: false,
      why: `not tried yet: ${error instanceof Error ? error.message : String(error)}`,
    }));
    return { road: works ? 'overlay' : 'copy', why };
  }

  /** To be called when no exec runs any more. */
  async close(): Promise<void> {
    await this.#verdict?.catch(() => undefined);
  }

  /** What an exec that began now would work on. */
  async identify(tenant: TenantId, place: SkillPlace): Promise<SkillIdentity> {
    return (await this.#options.layersOf(tenant)).identify(place);
  }

  /** The project's work must be as it should be: what the exec writes lies in it. */
  async during<T>(
    place: ExecPlace & SkillPlace,
    mounts: WorkspaceMounts,
    { inBackground, work }: LayeredTask<T>,
  ): Promise<T> {
    const { workspace } = this.#options;
    const layers = await this.#options.layersOf(place.tenant);
    const folders = workspace.layered(place.tenant).foldersOf(place);
    await this.#clear(workspace.foldersOf(place).work);
    const { works } = await this.#prove();
    const begin = (road: 'overlay' | 'copy') =>
      layers.beginExec(place, place.execId, { room: folders.room, road });
    const { road, ...start } = await begin(works ? 'overlay' : 'copy').catch((error: unknown) => {
      if (!works || !(error instanceof SecboxError) || error.code !== 'mount_failed') throw error;
      this.#options.logger.warn('layers.not_laid', { exec_id: place.execId, error });
      return begin('copy');
    });
    const { skill_version, skill_source } = start;
    const working = work({
      mounts: { ...mounts, work: folders[road] },
      start: { skill_version, skill_source },
      end: (stop) => this.#commit(layers, place, { later: inBackground, stop }),
    });
    return working.catch(async (error: unknown) => {
      // Where its container may be alive, what it has is left to it, and to the next start.
      if (!(error instanceof Abandoned)) await layers.abandonExec(place.execId);
      throw error;
    });
  }

  /** The folder of the user's general sandbox stays while `work` goes on. */
  async inSandbox<T>(
    tenant: TenantId,
    user: Omit<SkillPlace, 'skillId'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const release = await (await this.#options.layersOf(tenant)).holdSandbox(user);
    try {
      return await work();
    } finally {
      release();
    }
  }

  async #commit(
    layers: Pick<SkillLayers, 'commitExec'>,
    place: ExecPlace & SkillPlace,
    options: CommitOptions,
  ): Promise<LayerEffects> {
    const { logger, onChanged } = this.#options;
    const { execId, tenant, userId, agentId, skillId } = place;
    try {
      const effects = withTotals(await layers.commitExec(execId, options));
      const { added, changed, deleted } = effects.totals;
      if (onChanged && effects.kept && added + changed + deleted > 0) {
        const told = onChanged(tenant, { userId, agentId, skillId });
        await told.catch((error: unknown) =>
          logger.warn('layers.change_not_told', { exec_id: execId, error }),
        );
      }
      return effects;
    } catch (error) {
      logger.error('layers.not_committed', { exec_id: execId, error });
      const reason = 'What it did could not be taken over; the log of the server says why.';
      const nothing = { added: [], changed: [], deleted: [], conflicts: [], skipped: [] };
      return withTotals({ ...nothing, kept: false, reason });
    }
  }

  /** Removes what execs of a server that was killed wrote; those of this one remove what is theirs. */
  #clear(rooms: string): Promise<void> {
    const clearing = this.#cleared.get(rooms) ?? clear(rooms);
    this.#cleared.set(rooms, clearing);
    clearing.catch(() => this.#cleared.delete(rooms));
    return clearing;
  }

  /** Found out once; what could not be found out is tried again by the next who asks. */
  #prove(): Promise<OverlayVerdict> {
    this.#verdict ??= proveOverlays(this.#options).then(
      (verdict) => {
        this.#options.logger.info('layers.road', { ...verdict });
        return verdict;
      },
      (error: unknown) => {
        this.#verdict = undefined;
        throw error;
      },
    );
    return this.#verdict;
  }
}

function withTotals(effects: ExecEffects): LayerEffects {
  const { added, changed, deleted, conflicts, skipped } = effects;
  return {
    ...effects,
    totals: {
      added: added.length,
      changed: changed.length,
      deleted: deleted.length,
      conflicts: conflicts.length,
      skipped: skipped.length,
    },
  };
}

async function clear(rooms: string): Promise<void> {
  await within(Directory.open(rooms), async (folder) => {
    for await (const name of folder.names()) {
      if (isExecId(name.toString('latin1'))) await folder.remove(name);
    }
  });
}
