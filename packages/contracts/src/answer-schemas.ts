import { errorCodes, errorKinds } from './error-codes.js';
import { artifactKinds, dropReasons } from './exec-evidence.js';
import { sandboxTypes, startModes } from './exec-record.js';
import { execStatuses } from './exec-status.js';
import { execIdPattern, namePattern } from './ids.js';
import { effectConflictKinds } from './layer-effects.js';
import { limitFields, policyAuthorities } from './policy-values.js';
import { securityModeNames, settingsSchema } from './settings.js';

/** JSON Schemas of what the API answers: every key is there, and there is no other. */

type Schema = Readonly<Record<string, unknown>>;

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const count = { type: 'integer', minimum: 0 } as const;
const flag = { type: 'boolean' } as const;
const hash = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const;
export const listOf = (items: Schema) => ({ type: 'array', items });
export const orNull = (schema: Schema) => ({ anyOf: [schema, { type: 'null' }] });

export function record<Properties extends Readonly<Record<string, Schema>>>(
  properties: Properties,
  optional: readonly (keyof Properties)[] = [],
) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, required, properties } as const;
}

const eachLimit = (schema: Schema): Readonly<Record<string, Schema>> =>
  Object.fromEntries(limitFields.map((field) => [field, schema]));
const authority = { type: 'string', enum: policyAuthorities } as const;

export const policySnapshotSchema = record({
  values: record({
    net: record({ mode: { type: 'string', enum: ['none'] } }),
    ...eachLimit({ type: 'number' }),
    read_only_root: flag,
  }),
  ceilings: record({
    ...eachLimit(record({ value: { type: 'number' }, layer: authority })),
    read_only_root: record({ value: flag, layer: authority }),
  }),
  sources: record({ ...eachLimit(authority), 'net.mode': authority, read_only_root: authority }),
  runtime: record({ value: text, layer: authority }),
  settings_version: count,
});

const fileEffect = { path: text, sha256: hash, bytes: count } as const;

export const layerEffectsSchema = record({
  kept: flag,
  reason: orNull(text),
  added: listOf(record(fileEffect)),
  changed: listOf(record({ ...fileEffect, before: hash })),
  deleted: listOf(record({ path: text, sha256: hash })),
  conflicts: listOf(
    record(
      {
        path: text,
        kind: { type: 'string', enum: effectConflictKinds },
        here: orNull(hash),
        coming: orNull(hash),
        kept_as: text,
      },
      ['kept_as'],
    ),
  ),
  skipped: listOf(record({ path: text, kind: text })),
  totals: record({ added: count, changed: count, deleted: count, conflicts: count, skipped: count }),
});

const recordProperties = {
  exec_id: { type: 'string', pattern: execIdPattern },
  tenant: text,
  actor: orNull(text),
  project_id: { type: 'string', pattern: namePattern },
  task_id: orNull(text),
  conversation_id: orNull(text),
  skill_id: orNull(text),
  skill_digest: orNull(hash),
  user_id: orNull(text),
  agent_id: orNull(text),
  kind: { type: 'string', enum: ['shell', 'python', 'argv'] },
  sandbox_type: { type: 'string', enum: sandboxTypes },
  image: text,
  image_digest: text,
  cmd: text,
  args: listOf(text),
  cwd: text,
  env_keys: listOf(text),
  policy_snapshot: { $ref: '#/components/schemas/PolicySnapshot' },
  artifacts_path: text,
  idempotency_key: orNull(text),
  request_hash: hash,
  plan_hash: hash,
  status: { type: 'string', enum: execStatuses },
  exit_code: orNull({ type: 'integer' }),
  signal: orNull(text),
  oom: flag,
  error_reason: orNull(text),
  created_at: time,
  started_at: orNull(time),
  queue_ms: orNull(count),
  start_mode: orNull({ type: 'string', enum: startModes }),
  skill_version: orNull(hash),
  skill_source: orNull(text),
  ended_at: orNull(time),
  duration_ms: orNull(count),
  stdout_truncated: flag,
  stderr_truncated: flag,
  artifacts_truncated: flag,
  cpu_ms: orNull(count),
  peak_memory_bytes: orNull(count),
  output_error: orNull(text),
  effects: orNull({ $ref: '#/components/schemas/LayerEffects' }),
  files_removed_at: orNull(time),
  files_removed_reason: orNull({ type: 'string', enum: ['retention', 'deleted'] }),
  files_removed_by: orNull(text),
} as const;

export const execRecordSchema = record(recordProperties);

const artifactProperties = { path: text, path_base64: text } as const;

export const artifactSummarySchema = record(
  { ...artifactProperties, size: count, sha256: hash, media_type: text, url: orNull(text) },
  ['path_base64'],
);

export const execAnswerSchema = record({
  ...recordProperties,
  artifacts_dir: text,
  stdout_path: text,
  stderr_path: text,
  stdout: text,
  stderr: text,
  artifacts: listOf(artifactSummarySchema),
  artifacts_complete: flag,
  artifacts_url: text,
});

const nextCursor = orNull(text);

const freed = { files: count, freed_bytes: count } as const;
const projectId = { type: 'string', pattern: namePattern } as const;

export const projectPageSchema = record({
  projects: listOf(record({ project_id: projectId, execs: count, last_used_at: time })),
  next_cursor: nextCursor,
});

export const projectRemovalSchema = record({
  project_id: projectId,
  removed_at: time,
  execs: count,
  complete: flag,
  ...freed,
});

export const retentionRunSchema = record({
  execs: count,
  projects: count,
  inputs: count,
  contents: count,
  in_use: count,
  complete: flag,
  ...freed,
});

export const execPageSchema = record({
  execs: listOf({ $ref: '#/components/schemas/ExecRecord' }),
  next_cursor: nextCursor,
});

export const artifactListingSchema = record({
  artifacts: listOf(
    record(
      {
        ...artifactProperties,
        kind: { type: 'string', enum: artifactKinds },
        size: orNull(count),
        sha256: orNull(hash),
        media_type: orNull(text),
        dropped: orNull({ type: 'string', enum: dropReasons }),
        url: orNull(text),
      },
      ['path_base64'],
    ),
  ),
  next_cursor: nextCursor,
});

export const inputListingSchema = record({
  inputs: listOf({
    oneOf: [
      record({ path: text, size: count, sha256: hash }),
      record({ path: text, secret: { type: 'boolean', const: true } }),
    ],
  }),
  next_cursor: nextCursor,
});

const figures = {
  execs: count,
  duration_ms: record({
    min: orNull(count),
    p50: orNull(count),
    p95: orNull(count),
    max: orNull(count),
    mean: orNull(count),
  }),
} as const;
const groups = listOf(record({ key: orNull(text), ...figures }));

export const execStatsSchema = record({
  total: record(figures),
  by_status: groups,
  by_day: groups,
  by_skill: groups,
  by_actor: groups,
  truncated: flag,
});

const { $id: _, ...settingsDocument } = settingsSchema;

export const settingsVersionSchema = record({
  version: count,
  settings: settingsDocument,
  created_at: orNull(time),
});

export const settingsHistorySchema = record({
  versions: listOf({ $ref: '#/components/schemas/SettingsVersion' }),
  next_before: orNull(count),
});

export const errorSchema = record({
  error: record(
    {
      kind: { type: 'string', enum: errorKinds },
      code: { type: 'string', enum: Object.keys(errorCodes) },
      message: text,
      details: { type: 'object' },
    },
    ['details'],
  ),
});

/** Of `GET /sandbox/health`. */
const diskLimit = record({ kind: { type: 'string', enum: ['hard', 'soft'] }, limit_bytes: count, why: text });

export const healthSchema = record({
  status: { type: 'string', enum: ['ok', 'degraded'] },
  problems: listOf(text),
  warnings: listOf(text),
  version: text,
  runtime_mode: text,
  workspace_root_native: text,
  workspace_writable: flag,
  database_writable: flag,
  docker_cli_path: orNull(text),
  docker_version: orNull(text),
  docker_context: text,
  docker_host: text,
  engine_source: text,
  runtime: record({ name: text, offered: orNull(listOf(text)) }),
  image: record({ reference: text, id: orNull(text) }),
  disk: record({
    free_bytes: count,
    total_bytes: count,
    min_free_bytes: count,
    work: diskLimit,
    artifacts: diskLimit,
    sandbox: diskLimit,
  }),
  pool: {
    oneOf: [
      record({
        warm: { type: 'boolean', const: true },
        size: count,
        waiting: count,
        starting: count,
        taken_total: count,
        missed_total: count,
        last_error: orNull(text),
      }),
      record({ warm: { type: 'boolean', const: false }, why: text }),
    ],
  },
  security: record({
    mode: { type: 'string', enum: securityModeNames },
    subprocess: {
      oneOf: [
        record({ available: { type: 'boolean', const: true }, programs: listOf(text) }),
        record({ available: { type: 'boolean', const: false }, why: text }),
      ],
    },
  }),
  layers: record({ road: { type: 'string', enum: ['overlay', 'copy'] }, why: text }),
  strays: record({
    containers: count,
    rows: count,
    spools: count,
    mounts: count,
    last_sweep_at: orNull(time),
  }),
  account: record({
    listening: flag,
    started: count,
    unaccounted_total: count,
    unaccounted: listOf(
      record({ container: text, exec_id: orNull(text), started_at: orNull(time), why: text }),
    ),
  }),
});
