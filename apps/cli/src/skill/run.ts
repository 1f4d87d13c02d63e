import { resolve } from 'node:path';
import type { InvocationAnswer } from '@secbox/client';
import type { Command } from '../command.js';
import { exitCodes, UsageError } from '../exit-codes.js';
import { followExec, noteArtifacts, saveArtifacts } from '../follow.js';
import { serverOf, serverOptions } from '../server.js';
import type { Terminal } from '../terminal.js';
import { readInputs } from './inputs.js';
import { numbered } from './lint.js';

export const skillRun: Command = {
  name: 'skill run',
  words: '<id>',
  summary: 'Invoke a skill on a server, and show what it does and gives',
  details: `The output goes to stdout, everything else to stderr: what the program prints as it comes, and
the files it leaves behind. A value of --input is text where the skill takes text, else JSON.
Interrupting cancels it.`,
  options: {
    input: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'an input' },
    file: { type: 'string', multiple: true, value: 'NAME=PATH', help: 'a file as an input' },
    inputs: { type: 'string', value: 'JSON|@FILE', help: 'all inputs as a JSON object' },
    project: { type: 'string', value: 'ID', help: 'the project it runs in (one of its own)' },
    timeout: { type: 'string', value: 'MS', help: "a shorter time than the manifest's" },
    out: { type: 'string', value: 'FOLDER', help: 'where to save the files it leaves behind' },
    json: { type: 'boolean', help: 'show the whole answer as JSON instead' },
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, stopped: signal, cwd } = surroundings;
    const [id] = call.words;
    if (id === undefined || call.words.length > 1) throw new UsageError('Name one skill to run.');
    const timeout = call.number('timeout', 1);
    const client = serverOf(call, surroundings);
    const { interface: described } = await client.skills.get(id, { signal });
    const inputs = readInputs(call, (described?.inputs ?? {}) as Record<string, unknown>, cwd);
    const project = call.text('project');
    const request = {
      inputs,
      ...(project === undefined ? {} : { project_id: project }),
      ...(timeout === undefined ? {} : { policy_overrides: { timeout_ms: timeout } }),
    };
    const execId = await followExec((options) => client.skills.submit(id, request, options), {
      client,
      surroundings,
      onOutput: (data) => terminal.bytes(data, 'stderr'),
    });
    const answer = await client.skills.invocation(id, execId);
    show(answer, call.flag('json'), terminal);
    const folder = call.text('out');
    if (folder !== undefined) {
      const saved = await saveArtifacts(client, execId, resolve(cwd, folder), surroundings);
      terminal.note(`${numbered(saved, 'file')} saved in ${folder}`);
    }
    return answer.status === 'succeeded' && answer.output_error === null ? exitCodes.good : exitCodes.failed;
  },
};

function show(answer: InvocationAnswer, asJson: boolean, terminal: Terminal): void {
  const { status, output, output_error, exit_code, error_reason, duration_ms, exec_id } = answer;
  const good = status === 'succeeded' && output_error === null;
  if (asJson) terminal.result(JSON.stringify(answer, null, 2));
  else if (good) terminal.result(typeof output === 'string' ? output : JSON.stringify(output, null, 2));
  if (!asJson)
    noteArtifacts(
      answer.artifacts.filter(({ path }) => path !== 'output.json'),
      terminal,
    );
  const how = [
    status,
    ...(status === 'failed' ? [`exit code ${exit_code}`] : []),
    ...(error_reason === null ? [] : [error_reason]),
    ...(output_error === null ? [] : [`the skill broke its promise: ${output_error.message}`]),
    ...(duration_ms === null ? [] : [`${duration_ms} ms`]),
    exec_id,
  ].join(', ');
  terminal.note(terminal.noted(good ? 'green' : 'red', how));
}
