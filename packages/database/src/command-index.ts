import { SecboxError } from '@secbox/contracts';
import { CompiledQuery, sql, type Kysely } from 'kysely';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { givePlaces, rowidInPlace } from './command-places.js';
import type { Tables } from './tables.js';
import type { Writer } from './writer.js';

/** Of a longer command only so many characters are searched: each costs time in the one thread that writes. */
const searchedCharacters = 65_536;

const everyMs = 500;
/** What one transaction indexes at most: it holds up everything else for a few milliseconds. */
const rowsAtOnce = 32;
const charactersAtOnce = 65_536;

/** In the transaction of a new row: its command will be indexed, whatever happens to us. */
export const commandWaits = CompiledQuery.raw(
  'insert into commands_to_index (seq) values (last_insert_rowid())',
);

/**
 * The index of every three characters of commands. To add one takes longer than to write all other rows of its exec, so
 * that is done soon after, for several at once. Who searches waits until nothing is left to do: a search misses no exec.
 */
export class CommandIndex {
  readonly #db: Kysely<Tables>;
  readonly #writer: Writer;
  readonly #timer: NodeJS.Timeout;
  #turns: Promise<void> = Promise.resolve();

  constructor(db: Kysely<Tables>, writer: Writer) {
    this.#db = db;
    this.#writer = writer;
    // A disk without room, or a lock: the next time may be better.
    this.#timer = setInterval(() => void this.catchUp().catch(() => undefined), everyMs).unref();
  }

  /** Every row that is there when this is called can be found by its command when it is done. */
  async catchUp(): Promise<void> {
    const turn = this.#turns.then(() => this.#indexAll());
    this.#turns = turn.catch(() => undefined);
    return turn;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns;
  }

  async #indexAll(): Promise<void> {
    try {
      while (await this.#indexSome()) await nextTurn();
    } catch (error) {
      const reason = error instanceof Error ? error.message.replace(/\.$/, '') : String(error);
      throw new SecboxError(
        'database_unavailable',
        `The index of commands cannot be brought up to date: ${reason}. Execs can be listed without q.`,
        { cause: error },
      );
    }
  }

  /** False when nothing waits. */
  async #indexSome(): Promise<boolean> {
    const waiting = await this.#db
      .selectFrom('commands_to_index')
      .innerJoin('sandbox_execs', 'sandbox_execs.seq', 'commands_to_index.seq')
      .select(['commands_to_index.seq', sql<number>`length(cmd) + length(args)`.as('characters')])
      .orderBy('commands_to_index.seq')
      .limit(rowsAtOnce)
      .execute();
    if (waiting.length === 0) return false;
    const seqs = firstOf(waiting);
    const index = sql`
      insert into sandbox_exec_commands (rowid, command)
      select ${rowidInPlace}, substr(cmd || coalesce((select group_concat(' ' || value, '' order by key) from json_each(args)), ''), 1, ${searchedCharacters})
      from sandbox_execs join command_places using (tenant) where seq in (${sql.join(seqs)})`;
    const done = this.#db.deleteFrom('commands_to_index').where('seq', 'in', seqs);
    const place = givePlaces(seqs);
    await this.#writer.write([
      { query: place.compile(this.#db) },
      { query: index.compile(this.#db) },
      { query: done.compile() },
    ]);
    return true;
  }
}

/** As many as may be indexed at once, and one in any case. */
function firstOf(waiting: readonly { readonly seq: number; readonly characters: number }[]): number[] {
  const seqs: number[] = [];
  let characters = 0;
  for (const row of waiting) {
    characters += Math.min(row.characters, searchedCharacters);
    if (seqs.length > 0 && characters > charactersAtOnce) break;
    seqs.push(row.seq);
  }
  return seqs;
}

/** Text as one phrase of the index's query language, in which nothing but a quote is special. */
export function phraseOf(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
