export type InitErrorCode =
  /** The request cannot be put into a frame; nothing was sent. */
  | 'bad_request'
  /** What came is not what an init of this version says, or not in this order. */
  | 'protocol'
  /** Init refused what we sent. */
  | 'fault'
  /** The stream ended, or could not be written, before the last frame. */
  | 'gone';

/** Talking to init failed. The command's own failures are results, never errors. */
export class InitError extends Error {
  override readonly name = 'InitError';

  constructor(
    readonly code: InitErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
