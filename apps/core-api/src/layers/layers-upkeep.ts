import type { SecurityLog } from '@secbox/access';
import type { SkillSettings, TenantId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { SkillLayers, UserPlace } from '@secbox/skill-layers';
import { removeIdleDisks, type IdleDisksOptions } from './idle-disks.js';
import type { SkillRegister } from './skill-register.js';
import type { TenantLayers } from './tenant-layers.js';

export interface LayersUpkeepOptions extends IdleDisksOptions {
  readonly layers: Pick<TenantLayers, 'all'>;
  readonly register: Pick<SkillRegister, 'cleanedUp' | 'reconcile'>;
  readonly securityLog: Pick<SecurityLog, 'happened'>;
  readonly logger: Logger;
  readonly settings: () => SkillSettings;
  readonly everyMs?: number;
}

const hourMs = 3_600_000;
const defaultIdleHours = 24;
const defaultTrashDays = 7;

/** Cleans idle users and what nobody needs away, when the server starts and every hour. */
export class LayersUpkeep {
  readonly #options: LayersUpkeepOptions;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: LayersUpkeepOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#running = this.#run().finally(() => {
      if (this.#closed) return;
      this.#timer = setTimeout(() => this.begin(), this.#options.everyMs ?? hourMs);
      this.#timer.unref();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  /** What fails is told, and tried again the next time. */
  async #run(): Promise<void> {
    const { layers, logger, settings } = this.#options;
    try {
      const current = settings();
      for (const [tenant, each] of await layers.all()) {
        if (this.#closed) return;
        await this.#clean(tenant, each, current).catch((error: unknown) => {
          logger.error('layers.not_cleaned', { tenant, error });
        });
      }
    } catch (error) {
      logger.error('layers.not_cleaned', { error });
    }
  }

  async #clean(tenant: TenantId, layers: SkillLayers, settings: SkillSettings): Promise<void> {
    const { register, logger } = this.#options;
    const { idle_hours: idleHours = defaultIdleHours, trash_days: trashDays = defaultTrashDays } = settings;
    const { users, left, trashed, expired } = await layers.cleanUpIdle({
      idleMs: idleHours * hourMs,
      trashMs: trashDays * 24 * hourMs,
      onRemove: (user) => register.cleanedUp(tenant, user),
      onRemoved: (user) => this.#record(tenant, user),
    });
    const registered = await register.reconcile(tenant, layers, left);
    const disks = await removeIdleDisks(this.#options, tenant, left);
    const { versions, generations } = await layers.collectGarbage();
    const done = { users: users.length, trashed, expired, disks, versions, generations, registered };
    if (Object.values(done).some((count) => count > 0)) logger.info('layers.cleaned', { tenant, ...done });
  }

  async #record(tenant: TenantId, { userId, agentId }: UserPlace): Promise<void> {
    const details = { user_id: userId, agent_id: agentId, reason: 'idle' };
    const nobody = { actor: null, address: null };
    await this.#options.securityLog.happened('skill_deleted', nobody, { tenant, subject: agentId, details });
  }
}
