import { basename, resolve } from 'node:path';
import type { ExecAnswer, ExecRequest } from '@secbox/client';
import type { Call, Command } from './command.js';
import { exitCodes, UsageError } from './exit-codes.js';
import { followExec, noteArtifacts, saveArtifacts } from './follow.js';
import { serverOf, serverOptions } from './server.js';
import { pairOf, readFile } from './skill/inputs.js';
import { numbered } from './skill/lint.js';
import type { Surroundings } from './surroundings.js';

export const exec: Command = {
  name: 'exec',
  words: '<script or code> [<argument>…]',
  summary: 'Run a bash script, or Python code, in a sandbox',
  details: `Its output comes as it is written, stdout to stdout and stderr to stderr. Interrupting cancels it.
What begins with a dash and is meant for the script comes after "--".`,
  options: {
    python: { type: 'boolean', help: 'it is Python code' },
    project: { type: 'string', value: 'ID', help: 'whose inputs and work it sees (cli)' },
    env: { type: 'string', multiple: true, value: 'NAME=VALUE', help: 'a variable' },
    file: {
      type: 'string',
      multiple: true,
      value: '[PATH=]FILE',
      help: 'a file that it finds in /workspace/inputs',
    },
    stdin: { type: 'boolean', help: 'give it what comes on stdin' },
    timeout: { type: 'string', value: 'MS', help: 'how long it may run' },
    memory: { type: 'string', value: 'MB', help: 'how much memory it may have' },
    out: { type: 'string', value: 'FOLDER', help: 'where to save the files it leaves behind' },
    json: { type: 'boolean', help: 'show the whole answer as JSON instead' },
    ...serverOptions,
  },
  run: async (call, surroundings) => {
    const { terminal, cwd } = surroundings;
    const request = await requestOf(call, surroundings);
    const client = serverOf(call, surroundings);
    const asJson = call.flag('json');
    const execId = await followExec((options) => client.execs.submit(request, options), {
      client,
      surroundings,
      onOutput: (data, stream) => {
        if (!asJson) terminal.bytes(data, stream);
      },
    });
    const answer = await client.execs.get(execId);
    if (asJson) terminal.result(JSON.stringify(answer, null, 2));
    else noteArtifacts(answer.artifacts, terminal);
    const folder = call.text('out');
    if (folder !== undefined) {
      const saved = await saveArtifacts(client, execId, resolve(cwd, folder), surroundings);
      terminal.note(`${numbered(saved, 'file')} saved in ${folder}`);
    }
    const good = answer.status === 'succeeded';
    terminal.note(terminal.noted(good ? 'green' : 'red', endOf(answer)));
    return good ? exitCodes.good : exitCodes.failed;
  },
};

async function requestOf(call: Call, { cwd, terminal }: Surroundings): Promise<ExecRequest> {
  const [script, ...args] = call.words;
  if (script === undefined) throw new UsageError('Say what to run, such as secbox exec "echo hello".');
  const [timeout, memory] = [call.number('timeout', 1), call.number('memory', 1)];
  const env = Object.fromEntries(call.texts('env').map((each) => pairOf('env', each)));
  const python = call.flag('python');
  // bash takes the first argument after its script as the name of it.
  const [command, words] = python
    ? ['python', ['-c', script]]
    : ['bash', ['-lc', script, ...(args.length > 0 ? ['bash'] : [])]];
  return {
    project_id: call.text('project') ?? 'cli',
    exec: {
      kind: python ? 'python' : 'shell',
      command,
      args: [...words, ...args],
      env,
      ...(call.flag('stdin') ? { stdin: await readAll(terminal.stdin) } : {}),
    },
    inputs: call.texts('file').map((each) => {
      const [path, file] = each.includes('=') ? pairOf('file', each) : [basename(each), each];
      return { path, content_base64: readFile(file, cwd).toString('base64') };
    }),
    policy_overrides: {
      ...(timeout === undefined ? {} : { timeout_ms: timeout }),
      ...(memory === undefined ? {} : { memory_mb: memory }),
    },
  };
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function endOf({ status, exit_code, error_reason, duration_ms, exec_id }: ExecAnswer): string {
  return [
    status,
    ...(status === 'failed' ? [`exit code ${exit_code}`] : []),
    ...(error_reason === null ? [] : [error_reason]),
    ...(duration_ms === null ? [] : [`${duration_ms} ms`]),
    exec_id,
  ].join(', ');
}
