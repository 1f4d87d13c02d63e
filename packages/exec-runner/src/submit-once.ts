import { SecboxError, type ExecId, type ExecRecord, type FreshExec, type TenantId } from '@secbox/contracts';

/** An exec that is recorded and on its way. */
export interface SubmittedExec {
  readonly execId: ExecId;
  /** Waits for its end, at most so long; for ever it does not wait for a human's word. Never rejects. */
  wait(ms: number): Promise<WaitedEnd>;
}

/** What is known of an end that was waited for; nothing when it has not come, or came before. */
export interface WaitedEnd {
  /** What went wrong on our side. */
  readonly failure?: SecboxError | undefined;
  readonly fresh?: FreshExec | undefined;
}

export interface SubmitOnceOptions {
  /** The exec that the tenant submitted under this key before, if any. */
  readonly find: (tenant: TenantId, key: string) => Promise<ExecRecord | undefined>;
  readonly follow: (execId: ExecId) => SubmittedExec;
}

/** A tenant's own name for a request. */
export interface OnceKey {
  readonly tenant: TenantId;
  readonly key: string;
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
    once: OnceKey,
    requestHash: string,
    submitNew: () => Promise<SubmittedExec>,
  ): Promise<SubmittedExec> {
    const name = `${once.tenant}/${once.key}`;
    const pending = this.#pending.get(name);
    if (pending) {
      assertSame(pending.requestHash, requestHash);
      return pending.submitted;
    }
    const submitted = this.#findOrSubmit(once, requestHash, submitNew).finally(() =>
      this.#pending.delete(name),
    );
    this.#pending.set(name, { requestHash, submitted });
    return submitted;
  }

  /** What the key stands for already, which must be the same request. */
  async find({ tenant, key }: OnceKey, requestHash: string): Promise<SubmittedExec | undefined> {
    const earlier = await this.#options.find(tenant, key);
    if (!earlier) return undefined;
    assertSame(earlier.request_hash, requestHash);
    return this.#options.follow(earlier.exec_id);
  }

  async #findOrSubmit(
    once: OnceKey,
    requestHash: string,
    submitNew: () => Promise<SubmittedExec>,
  ): Promise<SubmittedExec> {
    return (await this.find(once, requestHash)) ?? submitNew();
  }
}

function assertSame(earlier: string, now: string): void {
  if (earlier === now) return;
  throw new SecboxError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request before.',
  );
}
