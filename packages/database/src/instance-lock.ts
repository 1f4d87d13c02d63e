import Sqlite from 'better-sqlite3';
import { SecboxError } from '@secbox/contracts';

/**
 * Holds a data folder for one server. Two on the same folder would clean up each other's containers.
 * The lock is SQLite's own on a file of nothing else: the kernel lets go of it however the process dies.
 */
export function lockInstance(path: string): { release(): void } {
  try {
    const sqlite = openLocked(path);
    return { release: () => sqlite.close() };
  } catch (error) {
    if ((error as { code?: unknown }).code === 'SQLITE_BUSY') {
      throw new SecboxError(
        'data_dir_in_use',
        `Another Secbox server uses this data folder (${path} is locked). Stop it, or set SECBOX_DATA_DIR to another folder.`,
      );
    }
    throw new SecboxError(
      'database_unavailable',
      `The data folder cannot be locked (${path}): ${(error as Error).message}.`,
      { cause: error },
    );
  }
}

function openLocked(path: string): Sqlite.Database {
  const sqlite = new Sqlite(path, { timeout: 0 });
  try {
    sqlite.pragma('locking_mode = EXCLUSIVE');
    sqlite.exec('BEGIN EXCLUSIVE');
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}
