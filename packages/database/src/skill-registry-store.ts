import { randomUUID } from 'node:crypto';
import type { AgentId, LayeredSkillId, TenantId, UserId } from '@secbox/contracts';
import { sql, type Kysely, type Selectable } from 'kysely';
import type { AgentSkillRegistryTable, Tables } from './tables.js';

/** A skill of an agent: in its baseline where there is no user, else in that user's overlay. */
export interface RegisteredSkillKey {
  readonly tenant: TenantId;
  readonly agentId: AgentId;
  readonly userId: UserId | null;
  readonly skillId: LayeredSkillId;
}

export interface RegisteredSkill {
  readonly id: string;
  readonly agent_id: string;
  readonly skill_id: string;
  readonly user_id: string | null;
  readonly name: string;
  readonly description: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export type RegisteredUser = Pick<RegisteredSkillKey, 'tenant' | 'agentId'> & { readonly userId: UserId };

/** Tells the platform which skills there are; what they hold is on disk. */
export class SkillRegistryStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  /** A skill that is known keeps its id and its birthday. */
  async put(
    { tenant, agentId, userId, skillId }: RegisteredSkillKey,
    { name, description }: Pick<RegisteredSkill, 'name' | 'description'>,
    now: Date,
  ): Promise<void> {
    const at = now.toISOString();
    await this.#db
      .insertInto('agent_skill_registry')
      .values({
        id: randomUUID(),
        tenant,
        agent_id: agentId,
        skill_id: skillId,
        user_id: userId,
        name,
        description,
        created_at: at,
        updated_at: at,
      })
      .onConflict((conflict) =>
        conflict
          .expression(sql`tenant, agent_id, coalesce(user_id, ''), skill_id`)
          .doUpdateSet({ name, description, updated_at: at }),
      )
      .execute();
  }

  /** False when it was not there. */
  async remove({ tenant, agentId, userId, skillId }: RegisteredSkillKey): Promise<boolean> {
    const { numDeletedRows } = await this.#db
      .deleteFrom('agent_skill_registry')
      .where('tenant', '=', tenant)
      .where('agent_id', '=', agentId)
      .where(sql<boolean>`coalesce(user_id, '') = ${userId ?? ''}`)
      .where('skill_id', '=', skillId)
      .executeTakeFirst();
    return numDeletedRows > 0n;
  }

  /** All that the user had of an agent, such as when it was idle for too long. */
  async removeUser({ tenant, agentId, userId }: RegisteredUser): Promise<void> {
    await this.#db
      .deleteFrom('agent_skill_registry')
      .where('tenant', '=', tenant)
      .where('agent_id', '=', agentId)
      .where(sql<boolean>`coalesce(user_id, '') = ${userId}`)
      .execute();
  }

  /** What everybody has of an agent and, where one is named, what that user has, in the order of their ids. */
  async list(tenant: TenantId, agentId: AgentId, userId?: UserId): Promise<RegisteredSkill[]> {
    const rows = await this.#db
      .selectFrom('agent_skill_registry')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('agent_id', '=', agentId)
      .where(sql<boolean>`coalesce(user_id, '') in ('', ${userId ?? ''})`)
      .orderBy('skill_id')
      .orderBy('user_id')
      .execute();
    return rows.map(fromRow);
  }
}

function fromRow({ tenant: _, ...row }: Selectable<AgentSkillRegistryTable>): RegisteredSkill {
  return row;
}
