import { SecboxError } from '@secbox/contracts';
import pLimit from 'p-limit';

export interface AdmissionLimits {
  readonly maxConcurrent: number;
  /** What all running execs may have together; one that needs more alone runs alone. */
  readonly maxMemoryMb: number;
  /** How many may wait for a place. */
  readonly maxQueued: number;
  /** What a tenant may have of that; absent: all of it. */
  readonly tenantLimits?: (tenant: string) => TenantLimits;
}

export interface TenantLimits {
  readonly maxConcurrent?: number | undefined;
  readonly maxQueued?: number | undefined;
}

export interface Admittance {
  readonly tenant: string;
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
  /** How many were let in before it because it did not fit. */
  passed: number;
  readonly enter: () => Promise<void>;
  readonly leave: (reason: unknown) => void;
}

/** What is there of one tenant. */
interface TenantState {
  /** In the order of their turns; a project that was served goes to the end. */
  readonly projects: Map<string, Waiting[]>;
  reserved: number;
  running: number;
}

/** So often others go before one that does not fit yet; then its memory is kept free for it. */
const mostPassed = 16;

/** Seconds after which a caller that met a full queue may try again. */
const retryAfterSeconds = 5;

/**
 * Decides who runs next: so many at once, so much memory together, and the tenants in turn, and the projects of
 * each, so that one with a thousand execs in the queue does not keep another waiting for all of them.
 */
export class Admission {
  #limits: AdmissionLimits;
  readonly #places: ReturnType<typeof pLimit>;
  /** In the order of their turns; a tenant that was served goes to the end. */
  readonly #tenants = new Map<string, TenantState>();
  #reserved = 0;
  #queued = 0;
  #memoryInUse = 0;
  #running = 0;
  #changed = new Signal();

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
    return this.#queued;
  }

  get running(): number {
    return this.#running;
  }

  /**
   * Takes a place in the queue, or throws `queue_full`. Whoever takes one gives it up again, by being
   * admitted or by releasing it.
   */
  reserve(tenant: string): Reservation {
    const { maxConcurrent, maxQueued } = this.#limits;
    if (this.#reserved + this.#running + this.#queued >= maxConcurrent + maxQueued) {
      throw full(`${maxQueued} execs are waiting already; try again later.`, maxQueued);
    }
    const own = this.#limitsOf(tenant);
    if (this.#present(tenant) >= own.maxConcurrent + own.maxQueued) {
      throw full(`${own.maxQueued} execs of the tenant are waiting already; try again later.`, own.maxQueued);
    }
    return this.reserveAgain(tenant);
  }

  /** For one that was taken on before, by a server that has ended since: it is not refused now. */
  reserveAgain(tenant: string): Reservation {
    const state = this.#stateOf(tenant);
    this.#reserved += 1;
    state.reserved += 1;
    let held = true;
    const release = () => {
      if (!held) return;
      held = false;
      this.#reserved -= 1;
      state.reserved -= 1;
      this.#forget(tenant, state);
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
      this.#enqueue({ ...admittance, passed: 0, enter: () => work().then(resolve, reject), leave: reject });
      void this.#places(() => this.#serveNext());
      // Places may be held for those who do not fit; this one may.
      this.#wake();
    });
  }

  #enqueue(waiting: Waiting): void {
    const { tenant, project, stop } = waiting;
    const { projects } = this.#stateOf(tenant);
    const ofProject = projects.get(project);
    if (ofProject) ofProject.push(waiting);
    else projects.set(project, [waiting]);
    this.#queued += 1;
    const leave = () => {
      if (!this.#dequeue(waiting)) return;
      waiting.leave(stop.reason);
      // Room may have been kept free for it.
      this.#wake();
    };
    stop.addEventListener('abort', leave, { once: true });
  }

  /** False when it is not waiting any more. */
  #dequeue(waiting: Waiting): boolean {
    const state = this.#stateOf(waiting.tenant);
    const ofProject = state.projects.get(waiting.project);
    const index = ofProject?.indexOf(waiting) ?? -1;
    if (ofProject && index >= 0) {
      ofProject.splice(index, 1);
      if (ofProject.length === 0) state.projects.delete(waiting.project);
      this.#queued -= 1;
    }
    this.#forget(waiting.tenant, state);
    return index >= 0;
  }

  /** Fills one place with whoever's turn it is, waiting for one that fits if need be. */
  async #serveNext(): Promise<void> {
    for (;;) {
      const next = this.#nextThatFits();
      if (next) return this.#serve(next);
      if (this.#queued === 0) return;
      await this.#changed.promise;
    }
  }

  #nextThatFits(): Waiting | undefined {
    const passed: Waiting[] = [];
    for (const [tenant, { projects, running }] of this.#tenants) {
      if (projects.size === 0 || running >= this.#limitsOf(tenant).maxConcurrent) continue;
      for (const [first] of projects.values()) {
        if (!first) continue;
        if (this.#running === 0 || this.#memoryInUse + first.memoryMb <= this.#limits.maxMemoryMb) {
          for (const each of passed) each.passed += 1;
          return first;
        }
        if (first.passed >= mostPassed) return undefined;
        passed.push(first);
      }
    }
    return undefined;
  }

  async #serve(next: Waiting): Promise<void> {
    const state = this.#stateOf(next.tenant);
    state.running += 1;
    this.#dequeue(next);
    toTheEnd(state.projects, next.project);
    toTheEnd(this.#tenants, next.tenant);
    this.#running += 1;
    this.#memoryInUse += next.memoryMb;
    try {
      await next.enter();
    } finally {
      this.#running -= 1;
      this.#memoryInUse -= next.memoryMb;
      state.running -= 1;
      this.#forget(next.tenant, state);
      this.#wake();
    }
  }

  #limitsOf(tenant: string): Required<{ [Name in keyof TenantLimits]: number }> {
    const { maxConcurrent, maxQueued, tenantLimits } = this.#limits;
    const own = tenantLimits?.(tenant) ?? {};
    return {
      maxConcurrent: Math.min(maxConcurrent, own.maxConcurrent ?? Infinity),
      maxQueued: Math.min(maxQueued, own.maxQueued ?? Infinity),
    };
  }

  /** How many of a tenant run, wait, or are about to. */
  #present(tenant: string): number {
    const state = this.#tenants.get(tenant);
    if (!state) return 0;
    const waiting = [...state.projects.values()].reduce((sum, ofProject) => sum + ofProject.length, 0);
    return state.reserved + state.running + waiting;
  }

  #stateOf(tenant: string): TenantState {
    const state = this.#tenants.get(tenant) ?? { projects: new Map(), reserved: 0, running: 0 };
    this.#tenants.set(tenant, state);
    return state;
  }

  #forget(tenant: string, { projects, reserved, running }: TenantState): void {
    if (projects.size === 0 && reserved === 0 && running === 0) this.#tenants.delete(tenant);
  }

  #wake(): void {
    const changed = this.#changed;
    this.#changed = new Signal();
    changed.send();
  }
}

function toTheEnd<T>(turns: Map<string, T>, name: string): void {
  const state = turns.get(name);
  if (state === undefined) return;
  turns.delete(name);
  turns.set(name, state);
}

function full(message: string, maxQueued: number): SecboxError {
  return new SecboxError('queue_full', message, {
    details: { max_queued: maxQueued, retry_after_seconds: retryAfterSeconds },
  });
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
