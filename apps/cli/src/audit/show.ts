import type { ExecAnswer } from '@secbox/client';
import type { Command } from '../command.js';
import { exitCodes, UsageError } from '../exit-codes.js';
import { serverOf, serverOptions } from '../server.js';
import { oneLine, sizeText, tableText, type Terminal } from '../terminal.js';

export const auditShow: Command = {
  name: 'audit show',
  words: '<exec_id>',
  summary: 'Show one exec: who, what, when, under which limits, with which result and files',
  options: {
    json: { type: 'boolean', help: 'all of it as JSON' },
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, stopped: signal } = surroundings;
    const [execId] = call.words;
    if (execId === undefined || call.words.length > 1) throw new UsageError('Name one exec, by its id.');
    const exec = await serverOf(call, surroundings).audit.show(execId, { signal });
    terminal.result(call.flag('json') ? JSON.stringify(exec, null, 2) : textOf(exec, terminal));
    return exitCodes.good;
  },
};

function textOf(exec: ExecAnswer, terminal: Terminal): string {
  const heading = (text: string) => terminal.styled('bold', text);
  const { values, sources } = exec.policy_snapshot;
  const authorities = new Map<string, string>(Object.entries(sources));
  const limits = Object.entries(values).map(([name, value]) => [
    `  ${name}`,
    typeof value === 'object' ? JSON.stringify(value) : String(value),
    authorities.get(name) ?? authorities.get(`${name}.mode`) ?? '',
  ]);
  const files = exec.artifacts.map(({ path, size, media_type, sha256 }) => [
    `  ${oneLine(path)}`,
    sizeText(size),
    media_type,
    sha256,
  ]);
  return [
    tableText(
      factsOf(exec).map(([name, value]) => [terminal.styled('dim', name.padEnd(10)), oneLine(value)]),
    ),
    heading('Limits'),
    tableText(limits),
    ...(files.length === 0 ? [] : [heading('Artifacts'), tableText(files)]),
    ...(exec.artifacts_complete ? [] : ['  and more']),
    ...outputOf(heading('stdout'), exec.stdout, exec.stdout_truncated),
    ...outputOf(heading('stderr'), exec.stderr, exec.stderr_truncated),
  ].join('\n');
}

function factsOf(exec: ExecAnswer): (readonly [string, string])[] {
  const { skill_id, skill_digest, exit_code, signal, oom, error_reason, task_id, conversation_id } = exec;
  const result = [
    exec.status,
    ...(exit_code === null ? [] : [`exit code ${exit_code}`]),
    ...(signal === null ? [] : [`signal ${signal}`]),
    ...(oom ? ['out of memory'] : []),
    ...(error_reason === null ? [] : [error_reason]),
  ];
  const optional = (name: string, value: string | null) => (value === null ? [] : [[name, value] as const]);
  return [
    ['exec', exec.exec_id],
    ['result', result.join(', ')],
    ['who', `${exec.actor ?? 'anyone'} of ${exec.tenant}`],
    ['project', exec.project_id],
    ...optional('task', task_id),
    ...optional('talk', conversation_id),
    ...(skill_id === null ? [] : [['skill', `${skill_id}, digest ${skill_digest ?? 'unknown'}`] as const]),
    ['command', [exec.cmd, ...exec.args].map((word) => JSON.stringify(word)).join(' ')],
    ['image', `${exec.image} ${exec.image_digest}`],
    ['created', exec.created_at],
    ...optional('started', exec.started_at),
    ...optional('ended', exec.ended_at),
    ...(exec.duration_ms === null
      ? []
      : [['took', `${exec.duration_ms} ms, ${exec.start_mode ?? ''} start`] as const]),
    ...optional('removed', exec.files_removed_at),
  ];
}

/** As it is but for what a terminal would obey; tabs and ends of lines are fine. */
function outputOf(heading: string, text: string, truncated: boolean): string[] {
  if (text === '') return [];
  const shown = text.replaceAll(/[^\P{Cc}\n\t]/gu, '?').trimEnd();
  return [`${heading}${truncated ? ' (the beginning)' : ''}`, shown];
}
