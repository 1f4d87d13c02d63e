import { SecboxError, type SecurityEvent, type Settings, type SettingsVersion } from '@secbox/contracts';
import type { Kysely, Selectable } from 'kysely';
import { insertEvent } from './event-row.js';
import type { SettingsVersionsTable, Tables } from './tables.js';

/** What Settings are before anyone changed them. */
const initial: SettingsVersion = { version: 0, settings: {}, created_at: null };

/** The versions of Settings, numbered from 1 without a gap. */
export class SettingsStore {
  readonly #db: Kysely<Tables>;

  constructor(db: Kysely<Tables>) {
    this.#db = db;
  }

  async current(): Promise<SettingsVersion> {
    const row = await this.#db
      .selectFrom('settings_versions')
      .selectAll()
      .orderBy('version', 'desc')
      .limit(1)
      .executeTakeFirst();
    return row ? fromRow(row) : initial;
  }

  /** Stores the version after `replaces`, with the event that says so; throws `settings_changed` when another one is current. */
  async put(settings: Settings, replaces: number, now: Date, event: SecurityEvent): Promise<SettingsVersion> {
    const version = replaces + 1;
    return this.#db.transaction().execute(async (transaction) => {
      const latest = await transaction
        .selectFrom('settings_versions')
        .select((query) => query.fn.max<number | null>('version').as('version'))
        .executeTakeFirstOrThrow();
      const current = latest.version ?? 0;
      if (current !== replaces) {
        throw new SecboxError('settings_changed', `Settings are at version ${current}, not ${replaces}.`, {
          details: { version: current },
        });
      }
      const row = { version, document: JSON.stringify(settings), created_at: now.toISOString() };
      await transaction.insertInto('settings_versions').values(row).execute();
      await insertEvent(transaction, event);
      return fromRow(row);
    });
  }

  /** Newest first; `before` is the version to go on from. */
  async history(limit: number, before?: number): Promise<SettingsVersion[]> {
    const rows = await this.#db
      .selectFrom('settings_versions')
      .selectAll()
      .$if(before !== undefined, (query) => query.where('version', '<', before ?? 0))
      .orderBy('version', 'desc')
      .limit(limit)
      .execute();
    return rows.map(fromRow);
  }
}

function fromRow(row: Selectable<SettingsVersionsTable>): SettingsVersion {
  return { version: row.version, settings: JSON.parse(row.document) as Settings, created_at: row.created_at };
}
