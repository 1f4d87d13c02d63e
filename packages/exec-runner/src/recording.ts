import { type SecboxError, type ExecStart, type ExecSubmission } from '@secbox/contracts';
import { recorded } from './exec-failure.js';
import type { ExecRecords } from './runner-options.js';

export interface RecordingOptions {
  readonly records: Pick<ExecRecords, 'insert' | 'insertRunning' | 'markRunning'>;
  readonly submission: ExecSubmission;
  /** The hashes of those of its inputs that are kept. */
  readonly contents: readonly string[];
  /** Keeps what the next server needs to go on with it. */
  readonly keepPlan: () => Promise<void>;
}

/**
 * The row of one exec. One that starts at once is written as such, in one transaction; one that has to wait is written
 * first as one that waits, together with what outlives this server. Nothing of it runs before its row is there.
 */
export class Recording {
  readonly #options: Omit<RecordingOptions, 'keepPlan'>;
  /** Holds what the exec brings, which may be megabytes: forgotten as soon as the row is being written. */
  #keepPlan: (() => Promise<void>) | undefined;
  /** Settles when the row is there; fails when there will be none. */
  readonly there: Promise<void>;
  #settle!: { readonly resolve: () => void; readonly reject: (reason: unknown) => void };
  #writing: Promise<void> | undefined;
  #waiting: NodeJS.Timeout | undefined;

  constructor({ keepPlan, ...options }: RecordingOptions) {
    this.#options = options;
    this.#keepPlan = keepPlan;
    this.there = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.there.catch(() => undefined);
  }

  /** For an exec that an earlier server recorded. */
  static ofEarlier(options: RecordingOptions): Recording {
    const recording = new Recording(options);
    void recording.#write(() => Promise.resolve());
    return recording;
  }

  /** Writes the row when the exec has not started within this time. */
  waitAfter(ms: number): void {
    this.#waiting = setTimeout(() => void this.waits().catch(() => undefined), ms);
  }

  /** Writes the row of an exec that has to wait, or has ended without having started, unless it is there. */
  waits(): Promise<void> {
    const { records, submission, contents } = this.#options;
    const keepPlan = this.#keepPlan;
    return this.#write(async () => {
      await keepPlan?.();
      await recorded(records.insert(submission, contents));
    });
  }

  /** As {@link waits}; whether the row is there then. */
  ensure(): Promise<boolean> {
    return this.waits().then(
      () => true,
      () => false,
    );
  }

  /** From here on the exec counts as having run. */
  async runs(start: ExecStart): Promise<void> {
    const { records, submission, contents } = this.#options;
    if (this.#writing === undefined && contents.length === 0) {
      return this.#write(() => recorded(records.insertRunning(submission, start)));
    }
    await this.waits();
    await recorded(records.markRunning(submission.exec_id, start));
  }

  /** For one that never came as far as having a row. */
  refuse(reason: SecboxError): void {
    void this.#write(() => Promise.reject(reason)).catch(() => undefined);
  }

  #write(write: () => Promise<void>): Promise<void> {
    clearTimeout(this.#waiting);
    if (this.#writing === undefined) {
      this.#keepPlan = undefined;
      this.#writing = write();
      this.#writing.then(this.#settle.resolve, this.#settle.reject);
    }
    return this.#writing;
  }
}
