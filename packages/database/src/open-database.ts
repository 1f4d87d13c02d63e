import Sqlite from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { migrations } from '@secbox/migrations';
import { SecboxError } from '@secbox/contracts';
import { ApprovalStore } from './approval-store.js';
import { AuditStore } from './audit-store.js';
import { DeliveryStore } from './delivery-store.js';
import { EventStore } from './event-store.js';
import { Checkpoints } from './checkpoints.js';
import { CommandIndex } from './command-index.js';
import { ExecStore } from './exec-store.js';
import { inPlaceCheck } from './in-place.js';
import { KeyStore } from './key-store.js';
import { withPreparedStatements } from './prepared-statements.js';
import { ThreadedReader } from './reading/reader.js';
import { RetentionStore } from './retention-store.js';
import { SettingsStore } from './settings-store.js';
import { SkillRegistryStore } from './skill-registry-store.js';
import type { Tables } from './tables.js';
import { SqliteWriter } from './writer.js';

export interface Database {
  readonly execs: ExecStore;
  readonly audit: AuditStore;
  readonly retention: RetentionStore;
  readonly settings: SettingsStore;
  readonly keys: KeyStore;
  readonly events: EventStore;
  readonly skillRegistry: SkillRegistryStore;
  readonly approvals: ApprovalStore;
  readonly deliveries: DeliveryStore;
  /** Fails when the database cannot be written. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** False beside a server that has it open: a database of another version is then refused, not changed. */
  readonly upgrade?: boolean;
}

/** Opens the database file, making or upgrading it as needed. */
export async function openDatabase(path: string, { upgrade = true }: OpenOptions = {}): Promise<Database> {
  const sqlite = openFile(path);
  const prepared = withPreparedStatements(sqlite, inPlaceCheck([path]));
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: prepared }) });
  try {
    await migrate(db, path, upgrade);
    // An up-to-date file opens read-only without a word.
    assertWritable(sqlite, path);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const reader = new ThreadedReader(path);
  const writer = new SqliteWriter(db, prepared);
  const inPlace = inPlaceCheck([path, `${path}-wal`]);
  const checkpoints = new Checkpoints(sqlite);
  const commands = new CommandIndex(db, writer);
  return {
    execs: new ExecStore(db, writer),
    audit: new AuditStore(db, reader, commands),
    retention: new RetentionStore(db, reader),
    settings: new SettingsStore(db),
    keys: new KeyStore(db),
    events: new EventStore(db, reader),
    skillRegistry: new SkillRegistryStore(db),
    approvals: new ApprovalStore(db),
    deliveries: new DeliveryStore(db),
    checkWritable: () => Promise.resolve().then(() => assertWritable(sqlite, path, inPlace)),
    close: async () => {
      checkpoints.close();
      await commands.close();
      await reader.close();
      await db.destroy();
    },
  };
}

const cacheKib = 16 * 1024;

function openFile(path: string): Sqlite.Database {
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = new Sqlite(path);
    // WAL: readers never wait for the writer. FULL: an acknowledged audit row survives a power cut.
    sqlite.pragma('journal_mode = WAL');
    sqlite.pragma('synchronous = FULL');
    sqlite.pragma('foreign_keys = ON');
    // An exec's row touches a dozen indexes: their upper pages stay at hand, however many rows there are.
    sqlite.pragma(`cache_size = -${cacheKib}`);
    // The driver waits in this thread, and with it the whole server; who meets a lock tries again instead.
    sqlite.pragma('busy_timeout = 100');
    return sqlite;
  } catch (error) {
    sqlite?.close();
    throw unavailable(`The database '${path}' cannot be opened`, error);
  }
}

async function migrate(db: Kysely<Tables>, path: string, upgrade: boolean): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  });
  if (!upgrade) {
    const known = await migrator.getMigrations();
    if (known.every(({ executedAt }) => executedAt !== undefined)) return;
    throw new SecboxError(
      'database_unavailable',
      `The database '${path}' is of an older version, and in use.`,
    );
  }
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find((result) => result.status === 'Error')?.migrationName;
  const at = failed === undefined ? '' : ` at ${failed}`;
  throw unavailable(`The database '${path}' could not be brought up to date${at}`, error);
}

/** Takes the write lock and gives it back: nothing is written, but a read-only or locked database says so. */
function assertWritable(sqlite: Sqlite.Database, path: string, inPlace?: () => void): void {
  try {
    sqlite.exec('UPDATE sandbox_execs SET status = status WHERE false');
    inPlace?.();
  } catch (error) {
    throw unavailable(`The database '${path}' cannot be written`, error);
  }
}

function unavailable(what: string, error: unknown): SecboxError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  return new SecboxError('database_unavailable', `${what}: ${reason}.`, { cause: error });
}
