import { join } from 'node:path';
import { defaultTenant, type TenantId } from '@secbox/contracts';
import { openHostMounts } from '@secbox/host-mounts';
import type { Logger } from '@secbox/logging';
import { globalPackId, type HostMounts, SkillLayers, type SkillLayersOptions } from '@secbox/skill-layers';
import { sandboxOwner, type Workspace } from '@secbox/workspace';

export interface TenantLayersOptions {
  readonly workspace: Workspace;
  /** The compiled mounts helper; without it execs of skills get copies. */
  readonly mountsProgram: string | undefined;
  readonly logger: Logger;
  readonly now?: () => Date;
  /** What one user may have of skills with one agent. */
  readonly userLimit: NonNullable<SkillLayersOptions['userLimit']>;
}

type Mounts = HostMounts & { close(): Promise<void> };

/** The skills as files of every tenant, each in a root of its own. Opened when nothing of a server before runs any more. */
export class TenantLayers {
  readonly #options: TenantLayersOptions;
  readonly #mounts: Mounts | undefined;
  readonly #opened = new Map<TenantId, Promise<SkillLayers>>();

  private constructor(options: TenantLayersOptions, mounts: Mounts | undefined) {
    this.#options = options;
    this.#mounts = mounts;
  }

  static async open(options: TenantLayersOptions): Promise<TenantLayers> {
    const { workspace, mountsProgram: program, logger } = options;
    const roots = { sources: [workspace.root], targets: [workspace.root] };
    const opened = await openHostMounts({ program, roots, logger });
    if (!opened.available) logger.info('layers.no_overlays', { why: opened.reason });
    const layers = new TenantLayers(options, opened.available ? opened.mounts : undefined);
    // What a server that was killed left under way is cleared before anybody asks.
    for (const tenant of await workspace.tenants()) await layers.of(tenant);
    return layers;
  }

  /** What lays folders over each other; undefined where nothing does. */
  get mounts(): HostMounts | undefined {
    return this.#mounts;
  }

  of(tenant: TenantId): Promise<SkillLayers> {
    const known = this.#opened.get(tenant);
    if (known) return known;
    const opening = this.#openRoot(tenant);
    this.#opened.set(tenant, opening);
    // Whoever asks next tries again.
    opening.catch(() => this.#opened.delete(tenant));
    return opening;
  }

  /** Of every tenant that has a folder. */
  async all(): Promise<ReadonlyMap<TenantId, SkillLayers>> {
    const tenants = [...this.#opened.keys()];
    return new Map(
      await Promise.all(tenants.map(async (tenant) => [tenant, await this.of(tenant)] as const)),
    );
  }

  /** When no exec of a skill runs any more. */
  async close(): Promise<void> {
    for (const opening of this.#opened.values()) await (await opening).close();
    await this.#mounts?.close();
  }

  #openRoot(tenant: TenantId): Promise<SkillLayers> {
    const { workspace, logger, now, userLimit } = this.#options;
    return SkillLayers.open({
      root: workspace.productOf(tenant),
      // One for all tenants; the operator puts it there.
      globalPack: join(workspace.productOf(defaultTenant), globalPackId),
      ...(process.getuid?.() === 0 ? { owner: sandboxOwner } : {}),
      ...(this.#mounts ? { mounts: this.#mounts } : {}),
      ...(now ? { now } : {}),
      userLimit,
      failed: (error) => logger.error('layers.not_removed', { tenant, error }),
    });
  }
}
