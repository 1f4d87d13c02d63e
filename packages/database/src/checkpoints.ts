import type Sqlite from 'better-sqlite3';

const everyMs = 1000;
/** What some forty execs write. */
const worthRows = 300;
/** What was written stays in the log alone for no longer. */
const longestMs = 60_000;

/**
 * Brings what was committed from the log into the database file, now and then. Left to itself SQLite does that at the end
 * of some commit, and when the disk is full then, that commit fails although it has happened: a row would be there that
 * its writer believes is not. It is done for many rows at once: the first to write after it begins the log anew, and waits
 * for the disk twice.
 */
export class Checkpoints {
  readonly #sqlite: Sqlite.Database;
  readonly #timer: NodeJS.Timeout;
  readonly #rowsWritten: Sqlite.Statement;
  #done: { readonly rows: number; readonly at: number };

  constructor(sqlite: Sqlite.Database) {
    this.#sqlite = sqlite;
    this.#rowsWritten = sqlite.prepare('select total_changes()').pluck();
    this.#done = { rows: this.#rows(), at: performance.now() };
    sqlite.pragma('wal_autocheckpoint = 0');
    this.#timer = setInterval(() => this.#checkpointIfWorth(), everyMs).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #rows(): number {
    return Number(this.#rowsWritten.get());
  }

  #checkpointIfWorth(): void {
    const rows = this.#rows();
    const waited = performance.now() - this.#done.at > longestMs;
    if (rows - this.#done.rows < (waited ? 1 : worthRows)) return;
    try {
      // As far as nobody has to wait for it.
      this.#sqlite.pragma('wal_checkpoint(PASSIVE)');
      this.#done = { rows, at: performance.now() };
    } catch {
      // A disk without room, or a lock: all of it is in the log, and the next time may be better.
    }
  }
}
