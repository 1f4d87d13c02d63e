import { Worker } from 'node:worker_threads';
import { SecboxError } from '@secbox/contracts';
import type { CompiledQuery } from 'kysely';
import type { Answer, Question } from './read-worker.mjs';

export interface Ask {
  readonly query: CompiledQuery;
  /** The rows are a key and a text each, and their texts are wanted as one. */
  readonly lines?: boolean;
  readonly maxBytes?: number;
  /** How long its answer may take, the wait for a free thread included. */
  readonly deadlineMs?: number;
}

/** Asks the database without holding anyone up. */
export interface Reader {
  ask(ask: Ask): Promise<Answer>;
}

interface Waiting {
  readonly question: Question;
  readonly settle: (outcome: Reply) => void;
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
    maxBytes = defaultMaxBytes,
    deadlineMs = defaultDeadlineMs,
  }: Ask): Promise<Answer> {
    if (this.#closed) throw unavailable('it is closed');
    const { sql, parameters } = query;
    const question = { sql, parameters, maxBytes, lines };
    const reply = await new Promise<Reply | 'late'>((resolve) => {
      const waiting: Waiting = {
        question,
        settle: (outcome) => {
          clearTimeout(timer);
          resolve(outcome);
        },
      };
      const timer = setTimeout(() => {
        this.#giveUp(waiting);
        resolve('late');
      }, deadlineMs);
      this.#waiting.push(waiting);
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
    for (const { settle } of this.#waiting.splice(0)) settle({ error: 'it is closed' });
    const gone = [...this.#alive].map(([worker, exit]) => {
      void worker.terminate();
      return exit;
    });
    // One in the middle of a long step ends with it, or with the process.
    await Promise.race([Promise.all(gone), new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.pop() ?? this.#start();
      const next = worker && this.#waiting.shift();
      if (!next) return;
      this.#asked.set(worker, next);
      worker.postMessage(next.question);
    }
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
      asked?.settle(reply);
      this.#next();
    });
    // Its exit follows, and tells whoever waits.
    worker.on('error', (error) => this.#asked.get(worker)?.settle({ error: error.message }));
    const exit = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        this.#alive.delete(worker);
        const idle = this.#idle.indexOf(worker);
        if (idle >= 0) this.#idle.splice(idle, 1);
        this.#asked.get(worker)?.settle({ error: 'its reading thread ended' });
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

function unavailable(why: string): SecboxError {
  return new SecboxError('database_unavailable', `The audit database cannot be asked: ${why}.`);
}
