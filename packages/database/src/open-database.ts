import Sqlite from 'better-sqlite3';
import { Kysely, Migrator, SqliteDialect } from 'kysely';
import { migrations } from '@secbox/migrations';
import { SecboxError } from '@secbox/contracts';
import { AuditStore } from './audit-store.js';
import { ExecStore } from './exec-store.js';
import { withPreparedStatements } from './prepared-statements.js';
import { ThreadedReader } from './reading/reader.js';
import { RetentionStore } from './retention-store.js';
import { SettingsStore } from './settings-store.js';
import type { Tables } from './tables.js';

export interface Database {
  readonly execs: ExecStore;
  readonly audit: AuditStore;
  readonly retention: RetentionStore;
  readonly settings: SettingsStore;
  /** Fails when the database cannot be written. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}

/** Opens the database file, making or upgrading it as needed. */
export async function openDatabase(path: string): Promise<Database> {
  const sqlite = openFile(path);
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: withPreparedStatements(sqlite) }) });
  try {
    await migrate(db, path);
    // An up-to-date file opens read-only without a word.
    assertWritable(sqlite, path);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const reader = new ThreadedReader(path);
  return {
    execs: new ExecStore(db),
    audit: new AuditStore(db, reader),
    retention: new RetentionStore(db, reader),
    settings: new SettingsStore(db),
    checkWritable: () => Promise.resolve().then(() => assertWritable(sqlite, path)),
    close: async () => {
      await reader.close();
      await db.destroy();
    },
  };
}

function openFile(path: string): Sqlite.Database {
  let sqlite: Sqlite.Database | undefined;
  try {
    sqlite = new Sqlite(path);
    // WAL: readers never wait for the writer. FULL: an acknowledged audit row survives a power cut.
    sqlite.pragma('journal_mode = WAL');
    sqlite.pragma('synchronous = FULL');
    sqlite.pragma('foreign_keys = ON');
    // The driver waits in this thread, and with it the whole server; who meets a lock tries again instead.
    sqlite.pragma('busy_timeout = 100');
    return sqlite;
  } catch (error) {
    sqlite?.close();
    throw unavailable(`The database ${path} cannot be opened`, error);
  }
}

async function migrate(db: Kysely<Tables>, path: string): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find((result) => result.status === 'Error')?.migrationName;
  const at = failed === undefined ? '' : ` at ${failed}`;
  throw unavailable(`The database ${path} could not be brought up to date${at}`, error);
}

/** Takes the write lock and gives it back: nothing is written, but a read-only or locked database says so. */
function assertWritable(sqlite: Sqlite.Database, path: string): void {
  try {
    sqlite.exec('UPDATE sandbox_execs SET status = status WHERE false');
  } catch (error) {
    throw unavailable(`The database ${path} cannot be written`, error);
  }
}

function unavailable(what: string, error: unknown): SecboxError {
  const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
  return new SecboxError('database_unavailable', `${what}: ${reason}.`, { cause: error });
}
