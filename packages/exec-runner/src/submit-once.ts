import { SecboxError, type ExecId, type ExecRecord } from '@secbox/contracts';

/** An exec that is recorded and on its way. */
export interface SubmittedExec {
  readonly execId: ExecId;
  /** Waits for its end, at most so long. Gives what went wrong on our side, if something did; never rejects. */
  wait(ms: number): Promise<SecboxError | undefined>;
}

export interface SubmitOnceOptions {
  /** The exec that was submitted under this key before, if any. */
  readonly find: (key: string) => Promise<ExecRecord | undefined>;
  readonly follow: (execId: ExecId) => SubmittedExec;
}

/**
 * Makes requests of one key one exec: those that come while the first is still being recorded wait for
 * it, and later ones find its row. A refused request leaves its key free.
 */
export class SubmitOnce {
  readonly #options: SubmitOnceOptions;
  readonly #pending = new Map<
    string,
    { readonly requestHash: string; readonly submitted: Promise<SubmittedExec> }
  >();

  constructor(options: SubmitOnceOptions) {
    this.#options = options;
  }

  async submit(
    key: string,
    requestHash: string,
    submitNew: () => Promise<SubmittedExec>,
  ): Promise<SubmittedExec> {
    const pending = this.#pending.get(key);
    if (pending) {
      assertSame(pending.requestHash, requestHash);
      return pending.submitted;
    }
    const submitted = this.#findOrSubmit(key, requestHash, submitNew).finally(() =>
      this.#pending.delete(key),
    );
    this.#pending.set(key, { requestHash, submitted });
    return submitted;
  }

  async #findOrSubmit(
    key: string,
    requestHash: string,
    submitNew: () => Promise<SubmittedExec>,
  ): Promise<SubmittedExec> {
    const earlier = await this.#options.find(key);
    if (!earlier) return submitNew();
    assertSame(earlier.request_hash, requestHash);
    return this.#options.follow(earlier.exec_id);
  }
}

function assertSame(earlier: string, now: string): void {
  if (earlier === now) return;
  throw new SecboxError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request before.',
  );
}
