/** Calls about the files of a skill, a general sandbox or a project. */

export interface FilePathQuery {
  readonly path: string;
}

export interface FileListQuery {
  readonly limit?: number;
  readonly after?: string;
}

export interface FileContentQuery extends FilePathQuery {
  readonly start?: number;
  readonly end?: number;
}

export interface FileWriteQuery extends FilePathQuery {
  readonly executable?: 'true' | 'false';
}

export interface FileMoveQuery {
  readonly from: string;
  readonly to: string;
}

export interface FileSearchQuery {
  readonly text: string;
  readonly ignore_case?: 'true' | 'false';
  readonly folder?: string;
  readonly limit?: number;
}

const path = { type: 'string', minLength: 1, maxLength: 4096 } as const;
const line = { type: 'integer', minimum: 1 } as const;
const flag = { type: 'string', enum: ['true', 'false'], default: 'false' } as const;

export const filePathQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: { path },
} as const;

export const fileListQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { limit: { type: 'integer', minimum: 1, maximum: 10_000 }, after: path },
} as const;

export const fileContentQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: { path, start: line, end: line },
} as const;

export const fileWriteQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['path'],
  properties: { path, executable: { type: 'string', enum: ['true', 'false'] } },
} as const;

export const fileMoveQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['from', 'to'],
  properties: { from: path, to: path },
} as const;

export const fileSearchQuerySchema = {
  type: 'object',
  additionalProperties: false,
  required: ['text'],
  properties: {
    text: { type: 'string', minLength: 1, maxLength: 1000 },
    ignore_case: flag,
    folder: path,
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 200 },
  },
} as const;

const text = { type: 'string' } as const;
const whole = { type: 'integer', minimum: 0 } as const;
const facts = { path: text, bytes: whole, etag: text } as const;
const object = <Properties extends object>(properties: Properties, optional: readonly string[] = []) => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});

export const fileListingSchema = object({
  files: { type: 'array', items: object({ path: text, bytes: whole, executable: { type: 'boolean' } }) },
  more: { type: 'boolean' },
});
export const fileFactsSchema = object({ ...facts, executable: { type: 'boolean' } });
export const fileChangeSchema = object({ ...facts, created: { type: 'boolean' } });
export const fileMovedSchema = object({ from: text, to: text });
export const fileDeletedSchema = object({ path: text });
export const fileContentSchema = object({
  content: { oneOf: [text, { type: 'array', items: text }] },
});
export const fileSearchSchema = object({
  matches: { type: 'array', items: object({ path: text, line: whole, text }) },
  truncated: { type: 'boolean' },
});
