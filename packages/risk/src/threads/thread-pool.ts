import type { Logger } from '@secbox/logging';
import { Worker } from 'node:worker_threads';
import type { RiskAssessment } from '../assessment.js';
import { cannotTell } from '../report.js';
import type { RuleId } from '../rules/catalogue.js';
import type { Question, Reply } from './message.js';

export interface PoolOptions {
  readonly logger: Logger;
  readonly threads: number;
  /** How long one question may take, from when a thread begins with it. */
  readonly deadlineMs: number;
  /** How long one may wait for a thread to begin with it; what the first threads take to start does not count. */
  readonly waitMs: number;
  readonly maxWaiting: number;
}

interface Waiting {
  readonly question: Question;
  readonly settle: (assessment: RiskAssessment) => void;
  timer?: NodeJS.Timeout;
}

interface Thread {
  readonly worker: Worker;
  ready: boolean;
  /** Called when it is ready, or never will be. */
  readonly started: () => void;
  asked: Waiting | undefined;
  timer: NodeJS.Timeout | undefined;
}

/** Starting one takes some tens of milliseconds; only a machine on its knees takes this long. */
const startMs = 30_000;
/** Threads that end before they were ready, in a row, before those who wait are told. */
const maxFailedStarts = 3;
const memory = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 8 };

/**
 * A few threads that assess one text at a time. One that takes too long, or dies of what it was asked, is ended and
 * replaced, and whoever waits for it is told that nobody can tell. Every question is answered.
 */
export class ThreadPool {
  readonly #options: PoolOptions;
  readonly #threads = new Set<Thread>();
  readonly #ending = new Set<Promise<unknown>>();
  readonly #waiting: Waiting[] = [];
  readonly #first: Promise<void>[] = [];
  /** Settles when a thread is ready for the first time. */
  readonly #begun: Promise<void>;
  #begin = () => {};
  #failedStarts = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#begun = new Promise((resolve) => (this.#begin = resolve));
    // Before anyone asks, so that the first does not wait for it.
    while (this.#threads.size < options.threads) {
      this.#first.push(new Promise((resolve) => this.#start(resolve)));
    }
  }

  /** Settles when the threads that it began with are ready, or have ended. */
  async ready(): Promise<void> {
    await Promise.all(this.#first);
  }

  ask(question: Question): Promise<RiskAssessment> {
    if (this.#closed || this.#waiting.length >= this.#options.maxWaiting) {
      return Promise.resolve(cannotTell('cannot-tell.busy'));
    }
    return new Promise((settle) => {
      const waiting: Waiting = { question, settle };
      this.#waiting.push(waiting);
      this.#next();
      void this.#begun.then(() => this.#limit(waiting));
    });
  }

  /** Those who ask for much make others wait, but not for longer than this. */
  #limit(waiting: Waiting): void {
    if (!this.#waiting.includes(waiting)) return;
    waiting.timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.settle(cannotTell('cannot-tell.busy'));
    }, this.#options.waitMs);
  }

  #turnAway(rule: RuleId): void {
    for (const { settle, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      settle(cannotTell(rule));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#turnAway('cannot-tell.busy');
    for (const thread of [...this.#threads]) this.#end(thread, cannotTell('cannot-tell.failed'));
    await Promise.all(this.#ending);
  }

  #next(): void {
    for (const thread of this.#threads) {
      if (!thread.ready || thread.asked) continue;
      const next = this.#waiting.shift();
      if (!next) return;
      clearTimeout(next.timer);
      thread.asked = next;
      thread.timer = setTimeout(() => this.#late(thread), this.#options.deadlineMs);
      thread.worker.postMessage(next.question);
    }
    while (
      !this.#closed &&
      this.#threads.size < this.#options.threads &&
      this.#failedStarts < maxFailedStarts
    )
      this.#start();
  }

  #start(started = () => {}): void {
    const worker = new Worker(threadFile(), { execArgv: [], resourceLimits: memory, env: {}, name: 'risk' });
    worker.unref();
    const thread: Thread = { worker, ready: false, started, asked: undefined, timer: undefined };
    thread.timer = setTimeout(() => this.#failed(thread, 'it did not get ready'), startMs);
    thread.timer.unref();
    this.#threads.add(thread);
    worker.on('message', (reply: Reply) => this.#hear(thread, reply));
    worker.on('error', (error) => this.#failed(thread, error.message));
    worker.on('exit', () => this.#failed(thread, 'it ended'));
  }

  #hear(thread: Thread, reply: Reply): void {
    if (!this.#threads.has(thread)) return;
    clearTimeout(thread.timer);
    if (reply.kind === 'ready') {
      thread.ready = true;
      thread.started();
      this.#begin();
      this.#failedStarts = 0;
    } else {
      const { asked } = thread;
      thread.asked = undefined;
      asked?.settle(reply.assessment);
    }
    this.#next();
  }

  #late(thread: Thread): void {
    this.#options.logger.warn('risk.timeout', { deadline_ms: this.#options.deadlineMs });
    this.#end(thread, cannotTell('cannot-tell.timeout'));
    this.#next();
  }

  #failed(thread: Thread, reason: string): void {
    if (!this.#threads.has(thread)) return;
    this.#options.logger.warn('risk.thread_ended', { reason });
    if (!thread.ready) this.#failedStarts += 1;
    this.#end(thread, cannotTell('cannot-tell.failed'));
    if (this.#failedStarts < maxFailedStarts) {
      this.#next();
      return;
    }
    // The next question tries again.
    this.#failedStarts = 0;
    this.#turnAway('cannot-tell.failed');
  }

  #end(thread: Thread, assessment: RiskAssessment): void {
    this.#threads.delete(thread);
    thread.started();
    clearTimeout(thread.timer);
    const ended = thread.worker.terminate().finally(() => this.#ending.delete(ended));
    this.#ending.add(ended);
    thread.asked?.settle(assessment);
  }
}

/** Run from its sources, as in tests, the thread is compiled first. */
function threadFile(): URL {
  const isSource = import.meta.url.endsWith('.ts');
  return new URL(isSource ? '../testing/source-thread.mjs' : './assess-thread.js', import.meta.url);
}
