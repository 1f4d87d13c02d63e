import { Worker } from 'node:worker_threads';
import { SecboxError } from '@secbox/contracts';
import type { CompiledQuery } from 'kysely';
import type { Answer, Question } from './read-worker.mjs';

export interface Ask {
  readonly query: CompiledQuery;
  /** The rows are a key and a text each, and their texts are wanted as one. */
  readonly lines?: boolean;
  /** Of lines, how many at most; that there are more is told. */
  readonly maxRows?: number;
  readonly maxBytes?: number;
  /** Many rows are gone through: it may not take the thread that is kept for all others. */
  readonly long?: boolean;
  /** How long its answer may take, the wait for a free thread included. */
  readonly deadlineMs?: number;
}

/** Asks the database without holding anyone up. */
export interface Reader {
  ask(ask: Ask): Promise<Answer>;
}

/** A question, and all who asked it before it was begun: what they hear is younger than their asking. */
interface Waiting {
  readonly question: Question;
  readonly long: boolean;
  readonly askers: Set<(outcome: Reply) => void>;
}

type Reply = { readonly answer: Answer } | { readonly error: string };

const defaultDeadlineMs = 10_000;
const defaultMaxBytes = 8 * 1024 ** 2;
const closeMs = 1000;

/**
 * A few threads, each with a connection that can only read. They are made when they are needed first, and a
 * question that takes too long costs its thread: SQLite cannot be stopped in the middle of a step.
 */
export class ThreadedReader implements Reader {
  readonly #path: string;
  readonly #threads: number;
  readonly #idle: Worker[] = [];
  readonly #waiting: Waiting[] = [];
  readonly #asked = new Map<Worker, Waiting>();
  /** Those that were given up too, until they are gone. */
  readonly #alive = new Map<Worker, Promise<void>>();
  #closed = false;

  constructor(path: string, threads = 2) {
    this.#path = path;
    this.#threads = threads;
  }

  async ask({
    query,
    lines = false,
    long = false,
    maxRows,
    maxBytes = defaultMaxBytes,
    deadlineMs = defaultDeadlineMs,
  }: Ask): Promise<Answer> {
    if (this.#closed) throw unavailable('it is closed');
    const { sql, parameters } = query;
    const question = { sql, parameters, maxBytes, lines, ...(maxRows === undefined ? {} : { maxRows }) };
    const reply = await new Promise<Reply | 'late'>((resolve) => {
      const waiting = this.#waitFor(question, long);
      const settle = (outcome: Reply) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      const timer = setTimeout(() => {
        waiting.askers.delete(settle);
        if (waiting.askers.size === 0) this.#giveUp(waiting);
        resolve('late');
      }, deadlineMs);
      waiting.askers.add(settle);
      this.#next();
    });
    if (reply === 'late') {
      throw new SecboxError(
        'query_timeout',
        `The database took longer than ${deadlineMs / 1000} s to answer this; narrow it down.`,
      );
    }
    if ('error' in reply) throw unavailable(reply.error);
    return reply.answer;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting.splice(0)) settleAll(waiting, { error: 'it is closed' });
    const gone = [...this.#alive].map(([worker, exit]) => {
      void worker.terminate();
      return exit;
    });
    // One in the middle of a long step ends with it, or with the process.
    await Promise.race([Promise.all(gone), new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
  }

  #waitFor(question: Question, long: boolean): Waiting {
    const same = this.#waiting.find((waiting) => isSame(waiting.question, question));
    if (same) return same;
    const waiting = { question, long, askers: new Set<(outcome: Reply) => void>() };
    this.#waiting.push(waiting);
    return waiting;
  }

  #next(): void {
    for (;;) {
      const at = this.#waiting.findIndex(({ long }) => !long || this.#mayTakeLong());
      const worker = at < 0 ? undefined : (this.#idle.pop() ?? this.#start());
      const [next] = worker ? this.#waiting.splice(at, 1) : [];
      if (!worker || !next) return;
      this.#asked.set(worker, next);
      worker.postMessage(next.question);
    }
  }

  /** One thread is left to short questions: whoever asks many long ones holds up none but those. */
  #mayTakeLong(): boolean {
    const underWay = [...this.#asked.values()].filter(({ long }) => long).length;
    const givenUp = this.#alive.size - this.#idle.length - this.#asked.size;
    return underWay + givenUp < Math.max(1, this.#threads - 1);
  }

  #start(): Worker | undefined {
    if (this.#closed || this.#alive.size >= this.#threads) return undefined;
    const worker = new Worker(new URL('./read-worker.mjs', import.meta.url), {
      argv: [this.#path],
      execArgv: [],
    });
    worker.unref();
    worker.on('message', (reply: Reply) => {
      const asked = this.#asked.get(worker);
      if (!this.#asked.delete(worker)) return;
      this.#idle.push(worker);
      if (asked) settleAll(asked, reply);
      this.#next();
    });
    // Its exit follows, and tells whoever waits.
    worker.on('error', (error) => {
      const asked = this.#asked.get(worker);
      if (asked) settleAll(asked, { error: error.message });
    });
    const exit = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        this.#alive.delete(worker);
        const idle = this.#idle.indexOf(worker);
        if (idle >= 0) this.#idle.splice(idle, 1);
        const asked = this.#asked.get(worker);
        if (asked) settleAll(asked, { error: 'its reading thread ended' });
        this.#asked.delete(worker);
        this.#next();
        resolve();
      });
    });
    this.#alive.set(worker, exit);
    return worker;
  }

  #giveUp(late: Waiting): void {
    const at = this.#waiting.indexOf(late);
    if (at >= 0) this.#waiting.splice(at, 1);
    for (const [worker, asked] of this.#asked) {
      if (asked !== late) continue;
      this.#asked.delete(worker);
      void worker.terminate();
    }
  }
}

function settleAll({ askers }: Waiting, outcome: Reply): void {
  for (const settle of askers) settle(outcome);
}

function isSame(one: Question, other: Question): boolean {
  return (
    one.sql === other.sql &&
    one.lines === other.lines &&
    one.maxRows === other.maxRows &&
    one.maxBytes === other.maxBytes &&
    one.parameters.length === other.parameters.length &&
    one.parameters.every((value, index) => value === other.parameters[index])
  );
}

function unavailable(why: string): SecboxError {
  return new SecboxError('database_unavailable', `The audit database cannot be asked: ${why}.`);
}
