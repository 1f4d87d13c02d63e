import type { ExecRecord } from './exec-record.js';
import { execStatuses, type ExecStatus } from './exec-status.js';
import { pageCursor, pageLimit } from './paging.js';

/** Which execs are meant: all that is given must hold. */
export interface ExecFilter {
  readonly task_id?: string;
  readonly conversation_id?: string;
  readonly project_id?: string;
  readonly skill_id?: string;
  readonly status?: ExecStatus;
  readonly actor?: string;
  /** Created at or after, and before: dates or times in ISO 8601. */
  readonly since?: string;
  readonly until?: string;
  /** Text in the command and its arguments, in any case. */
  readonly q?: string;
}

/** Newest or oldest first. */
export const execSorts = ['-created_at', 'created_at'] as const;
export type ExecSort = (typeof execSorts)[number];

export interface ExecListQuery extends ExecFilter {
  readonly sort?: ExecSort;
  readonly cursor?: string;
  readonly limit?: number;
}

export interface PageQuery {
  readonly cursor?: string;
  readonly limit?: number;
}

/** What `GET /sandbox/execs` answers; a page may be shorter than asked for, the cursor says whether it is the last. */
export interface ExecPage {
  readonly execs: readonly ExecRecord[];
  readonly next_cursor: string | null;
}

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExecExportQuery extends ExecFilter {
  readonly format: ExportFormat;
  readonly sort?: ExecSort;
}

/** The index knows groups of three characters, so that less cannot be looked for. */
export const leastSearched = 3;

const text = { type: 'string', minLength: 1, maxLength: 256 } as const;
/** A date, which is its first moment, or a time; both in UTC unless the time says otherwise. */
const moment = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}(T\\d{2}:\\d{2}(:\\d{2}(\\.\\d{1,9})?)?(Z|[+-]\\d{2}:\\d{2}))?$',
} as const;
const page = { cursor: pageCursor, limit: pageLimit } as const;
const sort = { type: 'string', enum: execSorts, default: execSorts[0] } as const;

const filterProperties = {
  task_id: text,
  conversation_id: text,
  project_id: text,
  skill_id: text,
  status: { type: 'string', enum: execStatuses },
  actor: text,
  since: moment,
  until: moment,
  q: { type: 'string', minLength: leastSearched, maxLength: 256, pattern: '^[^\\u0000]*$' },
} as const;

const queryOf = <Properties extends object>(properties: Properties) =>
  ({ type: 'object', additionalProperties: false, properties }) as const;

export const execFilterSchema = queryOf(filterProperties);
export const execListQuerySchema = queryOf({ ...filterProperties, sort, ...page });
export const pageQuerySchema = queryOf(page);
export const execExportQuerySchema = {
  ...queryOf({ ...filterProperties, sort, format: { type: 'string', enum: exportFormats } }),
  required: ['format'],
} as const;
