import type { ExportFormat } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';
import type { SandboxExecsTable } from './tables.js';

type Column = Exclude<keyof SandboxExecsTable, 'seq'>;
/** How a column's value is held; a word is text of our own making, in which nothing is special anywhere. */
type Held = 'word' | 'text' | 'number' | 'flag' | 'json';

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
};
const entries = Object.entries(columns) as [Column, Held][];

/** A row as one line of text. The database writes it: nothing else is as fast. */
export function exportLine(format: ExportFormat): RawBuilder<string> {
  switch (format) {
    case 'jsonl':
      return sql`json_object(${sql.join(entries.flatMap(([name, held]) => [sql.lit(name), jsonOf(name, held)]))}) || char(10)`;
    case 'csv':
      return sql`${sql.join(
        entries.map(([name, held]) => csvOf(name, held)),
        sql` || ',' || `,
      )} || char(13, 10)`;
  }
}

export function exportHeader(format: ExportFormat): string {
  return format === 'csv' ? `${entries.map(([name]) => name).join(',')}\r\n` : '';
}

function jsonOf(name: Column, held: Held): RawBuilder<unknown> {
  const value = sql.ref(`sandbox_execs.${name}`);
  switch (held) {
    case 'word':
    case 'text':
    case 'number':
      return value;
    case 'json':
      return sql`json(${value})`;
    case 'flag':
      return sql`json(iif(${value}, 'true', 'false'))`;
  }
}

/** RFC 4180. */
function csvOf(name: Column, held: Held): RawBuilder<unknown> {
  const value = sql.ref(`sandbox_execs.${name}`);
  switch (held) {
    case 'word':
    case 'number':
      return sql`coalesce(${value}, '')`;
    case 'flag':
      return sql`iif(${value}, 'true', 'false')`;
    case 'json':
      return sql`'"' || replace(${value}, '"', '""') || '"'`;
    case 'text':
      return sql`coalesce('"' || ${inert(value)} || replace(${value}, '"', '""') || '"', '')`;
  }
}

/**
 * A spreadsheet takes text that begins like this for a formula, and would run it; an apostrophe says that
 * it is text.
 */
const formulaStarts = '=+-@|%\t\r\n＝＋－＠';

function inert(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`iif(instr(${sql.lit(formulaStarts)}, substr(${value}, 1, 1)) > 0 and ${value} <> '', '''', '')`;
}
