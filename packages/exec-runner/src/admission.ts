import { SecboxError } from '@secbox/contracts';
import pLimit from 'p-limit';

export interface AdmissionLimits {
  readonly maxConcurrent: number;
  /** What all running execs may have together; one that needs more alone runs alone. */
  readonly maxMemoryMb: number;
  /** How many may wait for a place. */
  readonly maxQueued: number;
}

export interface Admittance {
  readonly project: string;
  readonly memoryMb: number;
  /** Leaves the queue when aborted, at once. */
  readonly stop: AbortSignal;
}

/** A place in the queue that is not used yet. */
export interface Reservation {
  /** Runs `work` when it is this one's turn. */
  admit<T>(admittance: Admittance, work: () => Promise<T>): Promise<T>;
  release(): void;
}

interface Waiting extends Admittance {
  readonly enter: () => Promise<void>;
  readonly leave: (reason: unknown) => void;
}

/** Seconds after which a caller that met a full queue may try again. */
const retryAfterSeconds = 5;

/**
 * Decides who runs next: so many at once, so much memory together, and the projects in turn, so that
 * one with a thousand execs in the queue does not keep another waiting for all of them.
 */
export class Admission {
  #limits: AdmissionLimits;
  readonly #places: ReturnType<typeof pLimit>;
  /** In the order of their turns; a project that was served goes to the end. */
  readonly #projects = new Map<string, Waiting[]>();
  #reserved = 0;
  #memoryInUse = 0;
  #running = 0;
  #memoryFreed = new Signal();

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
    this.#places = pLimit(limits.maxConcurrent);
  }

  /** Holds for whoever is admitted from now on; what runs already goes on. */
  update(limits: AdmissionLimits): void {
    this.#limits = limits;
    this.#places.concurrency = limits.maxConcurrent;
    this.#wake();
  }

  get queued(): number {
    return [...this.#projects.values()].reduce((sum, waiting) => sum + waiting.length, 0);
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Takes a place in the queue, or throws `queue_full`. Whoever takes one gives it up again, by being
   * admitted or by releasing it.
   */
  reserve(): Reservation {
    const { maxConcurrent, maxQueued } = this.#limits;
    if (this.#reserved + this.#running + this.queued >= maxConcurrent + maxQueued) {
      throw new SecboxError('queue_full', `${maxQueued} execs are waiting already; try again later.`, {
        details: { max_queued: maxQueued, retry_after_seconds: retryAfterSeconds },
      });
    }
    return this.reserveAgain();
  }

  /** For one that was taken on before, by a server that has ended since: it is not refused now. */
  reserveAgain(): Reservation {
    this.#reserved += 1;
    let held = true;
    const release = () => {
      if (held) this.#reserved -= 1;
      held = false;
    };
    return {
      release,
      admit: (admittance, work) => {
        release();
        return this.#admit(admittance, work);
      },
    };
  }

  #admit<T>(admittance: Admittance, work: () => Promise<T>): Promise<T> {
    if (admittance.stop.aborted) return Promise.reject(admittance.stop.reason as Error);
    return new Promise<T>((resolve, reject) => {
      this.#enqueue({ ...admittance, enter: () => work().then(resolve, reject), leave: reject });
      void this.#places(() => this.#serveNext());
    });
  }

  #enqueue(waiting: Waiting): void {
    const { project, stop } = waiting;
    const ofProject = this.#projects.get(project);
    if (ofProject) ofProject.push(waiting);
    else this.#projects.set(project, [waiting]);
    stop.addEventListener('abort', () => this.#dequeue(waiting) && waiting.leave(stop.reason), {
      once: true,
    });
  }

  /** False when it is not waiting any more. */
  #dequeue(waiting: Waiting): boolean {
    const ofProject = this.#projects.get(waiting.project);
    const index = ofProject?.indexOf(waiting) ?? -1;
    if (ofProject === undefined || index < 0) return false;
    ofProject.splice(index, 1);
    if (ofProject.length === 0) this.#projects.delete(waiting.project);
    return true;
  }

  /** Fills one place with whoever's turn it is, waiting for memory if need be. */
  async #serveNext(): Promise<void> {
    for (;;) {
      const next = this.#nextThatFits();
      if (next) return this.#serve(next);
      if (this.queued === 0) return;
      await this.#memoryFreed.promise;
    }
  }

  #nextThatFits(): Waiting | undefined {
    for (const [first] of this.#projects.values()) {
      const fits =
        first && (this.#running === 0 || this.#memoryInUse + first.memoryMb <= this.#limits.maxMemoryMb);
      if (fits) return first;
    }
    return undefined;
  }

  async #serve(next: Waiting): Promise<void> {
    this.#dequeue(next);
    const rest = this.#projects.get(next.project);
    if (rest) {
      this.#projects.delete(next.project);
      this.#projects.set(next.project, rest);
    }
    this.#running += 1;
    this.#memoryInUse += next.memoryMb;
    try {
      await next.enter();
    } finally {
      this.#running -= 1;
      this.#memoryInUse -= next.memoryMb;
      this.#wake();
    }
  }

  #wake(): void {
    const freed = this.#memoryFreed;
    this.#memoryFreed = new Signal();
    freed.send();
  }
}

/** Wakes everyone who awaits it, once. */
class Signal {
  readonly promise: Promise<void>;
  #send!: () => void;

  constructor() {
    this.promise = new Promise((resolve) => {
      this.#send = resolve;
    });
  }

  send(): void {
    this.#send();
  }
}
