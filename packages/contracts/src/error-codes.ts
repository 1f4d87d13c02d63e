/** What a caller does about an error depends on its kind alone. */
export const errorKinds = [
  'invalid',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'too_large',
  'rate_limited',
  'timeout',
  'unavailable',
  'internal',
] as const;

export type ErrorKind = (typeof errorKinds)[number];

interface ErrorCodeEntry {
  readonly kind: ErrorKind;
  /** Where HTTP has a more exact status than the kind's own. */
  readonly httpStatus?: number;
}

/** Every code this product answers with. docs/errors.md explains each; a test keeps both in step. */
export const errorCodes = {
  invalid_request: { kind: 'invalid' },
  malformed_json: { kind: 'invalid' },
  unsupported_media_type: { kind: 'invalid', httpStatus: 415 },
  invalid_id: { kind: 'invalid' },
  invalid_path: { kind: 'invalid' },
  invalid_policy: { kind: 'invalid' },
  foreign_host: { kind: 'forbidden' },
  policy_exceeded: { kind: 'forbidden' },
  invalid_setting: { kind: 'invalid' },
  settings_changed: { kind: 'conflict', httpStatus: 412 },
  precondition_required: { kind: 'invalid', httpStatus: 428 },
  exec_not_found: { kind: 'not_found' },
  exec_not_over: { kind: 'conflict' },
  input_not_found: { kind: 'not_found' },
  artifact_not_found: { kind: 'not_found' },
  artifact_gone: { kind: 'not_found', httpStatus: 410 },
  artifact_changed: { kind: 'conflict' },
  range_not_satisfiable: { kind: 'invalid', httpStatus: 416 },
  route_not_found: { kind: 'not_found' },
  method_not_allowed: { kind: 'invalid', httpStatus: 405 },
  too_many_inputs: { kind: 'conflict' },
  project_not_found: { kind: 'not_found' },
  project_in_use: { kind: 'conflict' },
  body_too_large: { kind: 'too_large' },
  engine_unavailable: { kind: 'unavailable' },
  image_missing: { kind: 'unavailable' },
  runtime_missing: { kind: 'unavailable' },
  database_unavailable: { kind: 'unavailable' },
  disk_full: { kind: 'unavailable' },
  work_unavailable: { kind: 'unavailable' },
  query_timeout: { kind: 'timeout' },
  idempotency_key_reused: { kind: 'conflict', httpStatus: 422 },
  queue_full: { kind: 'rate_limited' },
  data_dir_in_use: { kind: 'conflict' },
  shutting_down: { kind: 'unavailable' },
  internal_error: { kind: 'internal' },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof errorCodes;

const kindStatus: Record<ErrorKind, number> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  too_large: 413,
  rate_limited: 429,
  timeout: 504,
  unavailable: 503,
  internal: 500,
};

export function httpStatusOf(code: ErrorCode): number {
  const entry: ErrorCodeEntry = errorCodes[code];
  return entry.httpStatus ?? kindStatus[entry.kind];
}
