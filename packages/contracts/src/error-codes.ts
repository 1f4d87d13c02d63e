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
  unauthenticated: { kind: 'unauthorized' },
  role_required: { kind: 'forbidden' },
  tenant_forbidden: { kind: 'forbidden' },
  subject_forbidden: { kind: 'forbidden' },
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
  skill_not_found: { kind: 'not_found' },
  skill_invalid: { kind: 'conflict' },
  invalid_input: { kind: 'invalid' },
  skill_output_invalid: { kind: 'internal' },
  session_not_found: { kind: 'not_found' },
  too_many_sessions: { kind: 'rate_limited' },
  route_not_found: { kind: 'not_found' },
  method_not_allowed: { kind: 'invalid', httpStatus: 405 },
  too_many_inputs: { kind: 'conflict' },
  project_not_found: { kind: 'not_found' },
  project_in_use: { kind: 'conflict' },
  key_not_found: { kind: 'not_found' },
  body_too_large: { kind: 'too_large' },
  request_timeout: { kind: 'timeout', httpStatus: 408 },
  invalid_archive: { kind: 'invalid' },
  archive_too_large: { kind: 'too_large' },
  command_refused: { kind: 'forbidden' },
  skill_file_protected: { kind: 'forbidden' },
  skill_read_only: { kind: 'forbidden' },
  skill_version_not_found: { kind: 'not_found' },
  file_not_found: { kind: 'not_found' },
  trash_entry_not_found: { kind: 'not_found' },
  file_changed: { kind: 'conflict', httpStatus: 412 },
  file_in_the_way: { kind: 'conflict' },
  file_not_text: { kind: 'invalid', httpStatus: 415 },
  file_too_large: { kind: 'too_large' },
  listing_too_large: { kind: 'too_large' },
  storage_full: { kind: 'too_large' },
  file_secret: { kind: 'forbidden' },
  skill_exists: { kind: 'conflict' },
  baseline_moved: { kind: 'conflict' },
  approval_not_found: { kind: 'not_found' },
  approval_decided: { kind: 'conflict' },
  approval_expired: { kind: 'conflict', httpStatus: 410 },
  approval_plan_mismatch: { kind: 'conflict' },
  approval_by_requester: { kind: 'forbidden' },
  approval_void: { kind: 'conflict' },
  input_changed: { kind: 'conflict' },
  too_many_approvals: { kind: 'rate_limited' },
  upgrade_required: { kind: 'invalid', httpStatus: 426 },
  engine_unavailable: { kind: 'unavailable' },
  image_missing: { kind: 'unavailable' },
  sandbox_unavailable: { kind: 'unavailable' },
  runtime_missing: { kind: 'unavailable' },
  database_unavailable: { kind: 'unavailable' },
  disk_full: { kind: 'unavailable' },
  work_unavailable: { kind: 'unavailable' },
  mount_failed: { kind: 'unavailable' },
  query_timeout: { kind: 'timeout' },
  idempotency_key_reused: { kind: 'conflict', httpStatus: 422 },
  queue_full: { kind: 'rate_limited' },
  too_many_requests: { kind: 'rate_limited' },
  too_many_uploads: { kind: 'rate_limited' },
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
