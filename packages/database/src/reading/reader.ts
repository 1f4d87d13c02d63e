import { Worker } from 'node:worker_threads';
import { SecboxError } from '@secbox/contracts';
import type { CompiledQuery } from 'kysely';
import type { Answer, Question } from './read-worker.mjs';

export interface Ask {
  readonly query: CompiledQuery;
  /** Whose turn it takes; all without one share another. */
  readonly tenant?: string;
  /** Refused when too many of its tenant wait already. */
  readonly refusable?: boolean;
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
  readonly tenant: string;
  readonly long: boolean;
  /** Nobody wants to hear of it any more, but its thread is in the middle of it. */
  givenUp: boolean;
  readonly askers: Set<(outcome: Reply) => void>;
}

type Reply = { readonly answer: Answer } | { readonly error: string };

const defaultDeadlineMs = 10_000;
const defaultMaxBytes = 8 * 1024 ** 2;
const closeMs = 1000;
const mostWaiting = 64;

/**
 * A few threads, each with a connection that can only read. They are made when they are needed first, and a
 * question that takes too long costs its thread: SQLite cannot be stopped in the middle of a step. Tenants are served in
 * turn, and none has all threads: whatever one asks, a thread is left to the others.
 */
export class ThreadedReader implements Reader {
  readonly #path: string;
  readonly #threads: number;
  readonly #idle: Worker[] = [];
  /** By tenant; whose turn it is comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  /** What each is at, also when it was given up. */
  readonly #asked = new Map<Worker, Waiting>();
  readonly #alive = new Map<Worker, Promise<void>>();
  #closed = false;

  constructor(path: string, threads = 3) {
    this.#path = path;
    this.#threads = threads;
  }

  async ask({
    query,
    tenant = '',
    refusable = false,
    lines = false,
    long = false,
    maxRows,
    maxBytes = defaultMaxBytes,
    deadlineMs = defaultDeadlineMs,
  }: Ask): Promise<Answer> {
    if (this.#closed) throw unavailable('it is closed');
    const { sql, parameters } = query;
    const question = { sql, parameters, maxBytes, lines, ...(maxRows === undefined ? {} : { maxRows }) };
    const waiting = this.#waitFor({ question, tenant, long }, refusable);
    const reply = await new Promise<Reply | 'late'>((resolve) => {
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
    for (const waiting of [...this.#waiting.values()].flat()) settleAll(waiting, { error: 'it is closed' });
    this.#waiting.clear();
    const gone = [...this.#alive].map(([worker, exit]) => {
      void worker.terminate();
      return exit;
    });
    // One in the middle of a long step ends with it, or with the process.
    await Promise.race([Promise.all(gone), new Promise((resolve) => setTimeout(resolve, closeMs).unref())]);
  }

  #waitFor(asked: Pick<Waiting, 'question' | 'tenant' | 'long'>, refusable: boolean): Waiting {
    const queue = this.#waiting.get(asked.tenant) ?? [];
    const same = queue.find(({ question }) => isSame(question, asked.question));
    if (same) return same;
    if (refusable && queue.length >= mostWaiting) throw tooMany();
    const waiting = { ...asked, givenUp: false, askers: new Set<(outcome: Reply) => void>() };
    queue.push(waiting);
    this.#waiting.set(asked.tenant, queue);
    return waiting;
  }

  #next(): void {
    for (;;) {
      const next = this.#firstOf();
      const worker = next && (this.#idle.pop() ?? this.#start());
      if (!worker) return;
      const queue = this.#remove(next);
      // Its tenant's next turn comes after those of all others that wait.
      this.#waiting.delete(next.tenant);
      if (queue.length > 0) this.#waiting.set(next.tenant, queue);
      this.#asked.set(worker, next);
      worker.postMessage(next.question);
    }
  }

  /** What may be asked now of whoever's turn it is. */
  #firstOf(): Waiting | undefined {
    const underWay = [...this.#asked.values()];
    const most = Math.max(1, this.#threads - 1);
    const busy = underWay.filter(({ long, givenUp }) => long || givenUp).length;
    for (const [tenant, queue] of this.#waiting) {
      const own = underWay.filter((each) => each.tenant === tenant);
      if (own.length >= most) continue;
      // One thread is left to short questions, of all tenants and, where there are enough, of each.
      const mayTakeLong = busy < most && own.filter(({ long }) => long).length < Math.max(1, most - 1);
      const next = queue.find(({ long }) => !long || mayTakeLong);
      if (next) return next;
    }
    return undefined;
  }

  #remove(waiting: Waiting): Waiting[] {
    const queue = this.#waiting.get(waiting.tenant) ?? [];
    const at = queue.indexOf(waiting);
    if (at >= 0) queue.splice(at, 1);
    if (queue.length === 0) this.#waiting.delete(waiting.tenant);
    return queue;
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
      if (!asked || asked.givenUp) return;
      this.#asked.delete(worker);
      this.#idle.push(worker);
      settleAll(asked, reply);
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
    this.#remove(late);
    for (const [worker, asked] of this.#asked) {
      if (asked !== late) continue;
      late.givenUp = true;
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

function tooMany(): SecboxError {
  return new SecboxError('too_many_requests', 'Too many questions of the tenant wait already.', {
    details: { retry_after_seconds: 1 },
  });
}

function unavailable(why: string): SecboxError {
  return new SecboxError('database_unavailable', `The audit database cannot be asked: ${why}.`);
}
