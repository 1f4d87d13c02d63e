import { errorCodes, type ErrorCode, type ErrorKind } from './error-codes.js';

export interface SecboxErrorOptions {
  /** Facts for the caller, safe to show: never a secret, never a host path a caller did not send. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** What led to this; for the log only. */
  readonly cause?: unknown;
}

/** The one error class. A failure that callers are meant to understand is thrown as this. */
export class SecboxError extends Error {
  override readonly name = 'SecboxError';
  readonly code: ErrorCode;
  readonly kind: ErrorKind;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, options: SecboxErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = errorCodes[code].kind;
    this.details = options.details;
  }
}
