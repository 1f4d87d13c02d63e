import {
  fileChangeSchema,
  fileContentSchema,
  fileDeletedSchema,
  fileFactsSchema,
  fileMovedSchema,
  fileSearchSchema,
} from './file-calls.js';
import { pageCursor, pageLimit } from './paging.js';

/** The API of skills as files and of general sandboxes, under `/v1`: every answer in one envelope. */

export interface SkillUploadQuery {
  readonly scope?: 'baseline' | 'overlay';
}

export interface SkillSyncQuery {
  readonly keep?: 'mine' | 'theirs';
}

export interface SkillBaselineQuery {
  readonly force?: 'true' | 'false';
}

export interface SkillDiffQuery {
  /** `mine`, `pinned`, `current` or a version. */
  readonly from?: string;
  readonly to?: string;
}

/** Newest first. */
export interface SkillVersionsQuery {
  readonly cursor?: string;
  readonly limit?: number;
}

const side = { type: 'string', pattern: '^(mine|pinned|current|[0-9a-f]{64})$' } as const;

export const skillUploadQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { scope: { type: 'string', enum: ['baseline', 'overlay'], default: 'overlay' } },
} as const;

export const skillSyncQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { keep: { type: 'string', enum: ['mine', 'theirs'], default: 'mine' } },
} as const;

export const skillBaselineQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { force: { type: 'string', enum: ['true', 'false'], default: 'false' } },
} as const;

export const skillDiffQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { from: { ...side, default: 'pinned' }, to: { ...side, default: 'mine' } },
} as const;

export const skillVersionsQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { cursor: pageCursor, limit: pageLimit },
} as const;

const text = { type: 'string' } as const;
const textOrNull = { type: ['string', 'null'] } as const;
const flag = { type: 'boolean' } as const;
const whole = { type: 'integer', minimum: 0 } as const;
const object = (properties: Readonly<Record<string, object>>, optional: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
const list = (items: object) => ({ type: 'array', items });
const success = (data: object, more: Readonly<Record<string, object>> = {}) =>
  object({ status: { type: 'string', enum: ['success'] }, data, ...more });

const status = {
  status: { type: 'string', enum: ['UNCHANGED', 'MODIFIED', 'NEW', 'OUT_OF_SYNC'] },
  modified: flag,
  pinned_version: textOrNull,
  current_version: textOrNull,
  generation: whole,
  deleted: flag,
} as const;
const named = { name: text, description: text } as const;
const moved = { version: textOrNull, previous: textOrNull } as const;
const conflict = object({ path: text, kind: text, here: textOrNull, coming: textOrNull, kept_as: text }, [
  'kept_as',
]);

/** By their names in the OpenAPI document. */
export const v1Schemas = {
  V1Error: object({
    status: { type: 'string', enum: ['error'] },
    data: object({ kind: text, code: text, message: text, details: { type: 'object' } }, ['details']),
  }),
  V1Upload: success(text, {
    skills: list(object({ id: text, ...named, path: text, version: textOrNull })),
  }),
  V1SkillList: success(
    list(
      object({
        id: text,
        ...named,
        ...status,
        layer: { type: 'string', enum: ['global', 'baseline', 'overlay'] },
      }),
    ),
  ),
  V1Registry: success(
    list(
      object({
        id: text,
        agent_id: text,
        skill_id: text,
        user_id: textOrNull,
        ...named,
        created_at: text,
        updated_at: text,
      }),
    ),
  ),
  V1Trash: success(
    list(object({ id: text, kind: text, skill_id: text, reason: text, removed_at: text }, ['skill_id'])),
  ),
  V1Restored: success(object({ id: text, kind: text, skill_id: text }, ['skill_id'])),
  V1SkillStatus: success(object(status)),
  V1Synced: success(object({ ...moved, conflicts: list(conflict) })),
  V1Baselined: success(object(moved)),
  V1Versions: success(
    list(
      object({
        version: text,
        created_at: text,
        created_by: textOrNull,
        origin: text,
        parent: textOrNull,
        files: whole,
        bytes: whole,
        current: flag,
      }),
    ),
    { next_cursor: textOrNull },
  ),
  V1Diff: success(
    object({
      files: list(
        object({ path: text, change: text, before: textOrNull, after: textOrNull, patch: textOrNull }),
      ),
      truncated: flag,
    }),
  ),
  V1Done: success(text),
  V1Files: success(list(text)),
  V1Content: success(fileContentSchema),
  V1Edited: success(text, { file: fileChangeSchema }),
  V1FileFacts: success(fileFactsSchema),
  V1FileChange: success(fileChangeSchema),
  V1FileDeleted: success(fileDeletedSchema),
  V1FileMoved: success(fileMovedSchema),
  V1Search: success(fileSearchSchema),
} as const;
