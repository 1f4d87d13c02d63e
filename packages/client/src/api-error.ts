import type { ErrorKind } from '@secbox/contracts';

/** What the server answered instead of a result. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Decides what to do about it. */
  readonly kind: ErrorKind;
  /** Stable; docs/errors.md explains each. A newer server may have more of them. */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string | undefined;

  constructor(
    answer: ErrorAnswer,
    { status, requestId }: { status: number; requestId?: string | undefined },
  ) {
    super(answer.message);
    this.status = status;
    this.kind = answer.kind;
    this.code = answer.code;
    this.details = answer.details;
    this.requestId = requestId;
  }
}

/** The server was not reached, or the connection broke; whether it did what was asked is not known. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';

  constructor(url: string, cause: unknown) {
    super(`${url} was not reached: ${reasonOf(cause)}`, { cause });
  }
}

export interface ErrorAnswer {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Of an answer that is no success. Proxies in between answer in forms of their own. */
export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id') ?? undefined;
  const { status } = response;
  const text = await response.text().catch(() => '');
  const answer = errorIn(text) ?? {
    kind: kindOfStatus(status),
    code: `http_${status}`,
    message: `The server answered ${status} ${response.statusText}`.trimEnd(),
  };
  return new ApiError(answer, { status, requestId });
}

function errorIn(text: string): ErrorAnswer | undefined {
  try {
    const answer = JSON.parse(text) as {
      readonly error?: Partial<ErrorAnswer>;
      readonly status?: string;
      readonly data?: Partial<ErrorAnswer>;
    };
    // Under /v1 every answer has an envelope.
    const error = answer.status === 'error' ? answer.data : answer.error;
    const { kind, code, message, details } = error ?? {};
    if (kind === undefined || code === undefined || message === undefined) return undefined;
    return { kind, code, message, ...(details && { details }) };
  } catch {
    return undefined;
  }
}

function kindOfStatus(status: number): ErrorKind {
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 404 || status === 410) return 'not_found';
  if (status === 413) return 'too_large';
  if (status === 429) return 'rate_limited';
  if (status === 408 || status === 504) return 'timeout';
  if (status === 502 || status === 503) return 'unavailable';
  return status >= 500 ? 'internal' : 'invalid';
}

/** fetch says "fetch failed" and keeps the reason below. */
function reasonOf(error: unknown): string {
  for (let next = error, depth = 0; depth < 5; depth += 1) {
    const { cause, errors } = next as { cause?: unknown; errors?: readonly unknown[] };
    const inner = cause ?? errors?.[0];
    if (inner === undefined) return next instanceof Error ? next.message : String(next);
    next = inner;
  }
  return String(error);
}
