import type { ExecRecord } from '@secbox/client';
import type { Command } from '../command.js';
import { exitCodes, UsageError } from '../exit-codes.js';
import { serverOf, serverOptions } from '../server.js';
import { oneLine, tableText } from '../terminal.js';
import { filterOf, filterOptions } from './filters.js';

export const auditList: Command = {
  name: 'audit list',
  words: '',
  summary: 'List what ran, newest first',
  options: {
    ...filterOptions,
    limit: { type: 'string', value: 'N', help: 'at most so many (50)' },
    oldest: { type: 'boolean', help: 'oldest first' },
    json: { type: 'boolean', help: 'whole rows, one JSON object a line' },
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, stopped: signal } = surroundings;
    if (call.words.length > 0)
      throw new UsageError(`"audit list" takes options only, not ${call.words.join(' ')}.`);
    const limit = call.number('limit', 1) ?? 50;
    const filter = filterOf(call);
    const client = serverOf(call, surroundings);
    const sort = call.flag('oldest') ? 'created_at' : '-created_at';
    const rows: ExecRecord[] = [];
    const query = { ...filter, sort, limit: Math.min(limit, 1000) } as const;
    for await (const row of client.audit.list(query, { signal })) {
      if (call.flag('json')) terminal.result(JSON.stringify(row));
      rows.push(row);
      if (rows.length >= limit) break;
    }
    if (call.flag('json')) return exitCodes.good;
    if (rows.length === 0) terminal.note('Nothing ran that is meant by this.');
    else terminal.result(tableText([heading, ...rows.map(cellsOf)], terminal.columns));
    return exitCodes.good;
  },
};

const heading = ['CREATED', 'EXEC', 'STATUS', 'EXIT', 'MS', 'PROJECT', 'WHAT'];

function cellsOf(row: ExecRecord): string[] {
  const { created_at, exec_id, status, exit_code, duration_ms, project_id, skill_id, cmd, args } = row;
  return [
    created_at.slice(0, 19).replace('T', ' '),
    exec_id,
    status,
    exit_code === null ? '-' : String(exit_code),
    duration_ms === null ? '-' : String(duration_ms),
    project_id,
    skill_id ?? oneLine([cmd, ...args].join(' ')).slice(0, 200),
  ];
}
