import type { ApprovalSummary, ExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';

export interface DeadlinesOptions {
  readonly now: () => Date;
  readonly onDue: (approval: ApprovalSummary) => Promise<void>;
  readonly logger: Logger;
}

/** A clock may be set, and a timer takes no more than 24 days. */
const lookAgainMs = 60_000;
const tryAgainMs = 1000;

/** Ends requests when their time is over, with one timer for all of them. */
export class Deadlines {
  readonly #options: DeadlinesOptions;
  readonly #waiting = new Map<ExecId, ApprovalSummary>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: DeadlinesOptions) {
    this.#options = options;
  }

  add(approval: ApprovalSummary): void {
    this.#waiting.set(approval.exec_id, approval);
    this.#set();
  }

  remove(execId: ExecId): void {
    this.#waiting.delete(execId);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #set(leastMs = 0): void {
    clearTimeout(this.#timer);
    if (this.#closed || this.#waiting.size === 0) return;
    const now = this.#options.now().getTime();
    let next = lookAgainMs;
    for (const { expires_at } of this.#waiting.values()) next = Math.min(next, Date.parse(expires_at) - now);
    this.#timer = setTimeout(() => void this.#look(), Math.max(leastMs, next)).unref();
  }

  async #look(): Promise<void> {
    const now = this.#options.now().getTime();
    let leastMs = 0;
    for (const approval of [...this.#waiting.values()]) {
      if (this.#closed) return;
      if (Date.parse(approval.expires_at) > now || !this.#waiting.has(approval.exec_id)) continue;
      try {
        await this.#options.onDue(approval);
        this.#waiting.delete(approval.exec_id);
      } catch (error) {
        // A database that does not take it now will later.
        leastMs = tryAgainMs;
        this.#options.logger.warn('approval.not_expired', { exec_id: approval.exec_id, error });
      }
    }
    this.#set(leastMs);
  }
}
