import { execStatuses, type ExecFilter } from '@secbox/contracts';
import type { Call, CommandOption } from '../command.js';
import { UsageError } from '../exit-codes.js';

/** As the list of the API has them. */
export const filterOptions = {
  project: { type: 'string', value: 'ID', help: 'of this project' },
  skill: { type: 'string', value: 'ID', help: 'of this skill' },
  status: { type: 'string', value: 'STATUS', help: `with this status: ${execStatuses.join(', ')}` },
  task: { type: 'string', value: 'ID', help: 'of this task' },
  conversation: { type: 'string', value: 'ID', help: 'of this conversation' },
  actor: { type: 'string', value: 'KEY_ID', help: 'asked for by this key' },
  since: { type: 'string', value: 'TIME', help: 'from then on: 2024-05-01 or 2024-05-01T10:00:00Z' },
  until: { type: 'string', value: 'TIME', help: 'before then' },
  q: { type: 'string', value: 'TEXT', help: 'with this text in the command' },
} as const satisfies Record<string, CommandOption>;

export function filterOf(call: Call): ExecFilter {
  const written = call.text('status');
  const status = execStatuses.find((each) => each === written);
  if (written !== undefined && !status) {
    throw new UsageError(`--status takes one of ${execStatuses.join(', ')}, not ${JSON.stringify(written)}.`);
  }
  const given = {
    project_id: call.text('project'),
    skill_id: call.text('skill'),
    status,
    task_id: call.text('task'),
    conversation_id: call.text('conversation'),
    actor: call.text('actor'),
    since: call.text('since'),
    until: call.text('until'),
    q: call.text('q'),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
