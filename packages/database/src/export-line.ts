import type { ExportFormat } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';
import type { SandboxExecsTable } from './tables.js';

type Column = Exclude<keyof SandboxExecsTable, 'seq'>;
/**
 * How a column's value is held; a document is JSON or nothing; a word is text of our own making, in which nothing is
 * special anywhere.
 */
type Held = 'word' | 'text' | 'number' | 'flag' | 'json' | 'document';

/** Every column but our own key, in the order of the API's answers. */
const columns: Readonly<Record<Column, Held>> = {
  exec_id: 'word',
  tenant: 'text',
  actor: 'text',
  project_id: 'word',
  task_id: 'text',
  conversation_id: 'text',
  skill_id: 'text',
  kind: 'word',
  sandbox_type: 'word',
  image: 'text',
  image_digest: 'word',
  cmd: 'text',
  args: 'json',
  cwd: 'text',
  env_keys: 'json',
  policy_snapshot: 'json',
  artifacts_path: 'text',
  idempotency_key: 'text',
  request_hash: 'word',
  plan_hash: 'word',
  status: 'word',
  exit_code: 'number',
  signal: 'text',
  oom: 'flag',
  error_reason: 'text',
  created_at: 'word',
  started_at: 'word',
  queue_ms: 'number',
  start_mode: 'word',
  ended_at: 'word',
  duration_ms: 'number',
  stdout_truncated: 'flag',
  stderr_truncated: 'flag',
  artifacts_truncated: 'flag',
  cpu_ms: 'number',
  peak_memory_bytes: 'number',
  files_removed_at: 'word',
  files_removed_reason: 'word',
  files_removed_by: 'text',
  skill_digest: 'word',
  output_error: 'text',
  user_id: 'word',
  agent_id: 'word',
  skill_version: 'word',
  skill_source: 'word',
  effects: 'document',
};
const entries = Object.entries(columns) as [Column, Held][];

/** A line of an export, or an item of a JSON array with the comma behind it. */
export type LineForm = ExportFormat | 'item';

/** A row as text. The database writes it: nothing else is as fast. */
export function lineOf(form: LineForm): RawBuilder<string> {
  switch (form) {
    case 'item':
    case 'jsonl':
      return concat(
        entries.flatMap(([name, held], at) => [
          sql.lit(`${at === 0 ? '{' : ','}${JSON.stringify(name)}:`),
          jsonOf(name, held),
        ]),
        form === 'item' ? '},' : '}\n',
      );
    case 'csv':
      return concat(
        entries.flatMap(([name, held], at) => [...(at === 0 ? [] : [sql.lit(',')]), csvOf(name, held)]),
        '\r\n',
      );
  }
}

export function exportHeader(format: ExportFormat): string {
  return format === 'csv' ? `${entries.map(([name]) => name).join(',')}\r\n` : '';
}

/** In one step: each of a chain of `||` would copy all that is before it. What is null adds nothing. */
function concat(parts: readonly RawBuilder<unknown>[], end: string): RawBuilder<string> {
  return sql<string>`concat(${sql.join([...parts, sql.lit(end)])})`;
}

function jsonOf(name: Column, held: Held): RawBuilder<unknown> {
  const value = sql.ref(`sandbox_execs.${name}`);
  switch (held) {
    case 'word':
    case 'text':
      return sql`json_quote(${value})`;
    case 'number':
      return sql`coalesce(${value}, 'null')`;
    // As JSON.stringify wrote it, without a space or a line break: nothing is left to be done.
    case 'json':
      return value;
    case 'document':
      return sql`coalesce(${value}, 'null')`;
    case 'flag':
      return sql`iif(${value}, 'true', 'false')`;
  }
}

/** RFC 4180; nothing at all for null. */
function csvOf(name: Column, held: Held): RawBuilder<unknown> {
  const value = sql.ref(`sandbox_execs.${name}`);
  switch (held) {
    case 'word':
    case 'number':
      return value;
    case 'flag':
      return sql`iif(${value}, 'true', 'false')`;
    case 'json':
      return sql`'"' || replace(${value}, '"', '""') || '"'`;
    case 'document':
      return sql`coalesce('"' || replace(${value}, '"', '""') || '"', '')`;
    case 'text':
      return sql`${opening(value)} || replace(${value}, '"', '""') || '"'`;
  }
}

/**
 * A spreadsheet takes text that begins like this for a formula, and would run it; an apostrophe says that
 * it is text.
 */
const formulaStarts = '=+-@|%\t\r\n＝＋－＠';

/** A quote, with an apostrophe where it is needed. A letter, digit or slash, as most begin with, is seen at once. */
function opening(value: RawBuilder<unknown>): RawBuilder<unknown> {
  const plain = sql`(${value} >= 'A' and ${value} < '|') or (${value} >= '/' and ${value} < '=')`;
  const formula = sql`instr(${sql.lit(formulaStarts)}, substr(${value}, 1, 1)) > 0 and ${value} <> ''`;
  return sql`case when ${plain} then '"' when ${formula} then '"''' else '"' end`;
}
