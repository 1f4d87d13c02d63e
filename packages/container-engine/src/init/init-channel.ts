/** The two directions to one init, whatever carries them. */
export interface InitChannel {
  /** What init writes to its stdout, cut anywhere; pulling it slowly slows the command down. */
  readonly output: AsyncIterable<Uint8Array>;
  /** Writes in the order of the calls; settles when more may be written. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends our direction. Init takes it for "done" or "gone": it kills what runs and exits. */
  close(): void;
}
