import type { ExecAnswer, RunCodeAnswer } from '@secbox/contracts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What turns the subprocess executor on. `npm test` compiles the program that it needs. */
export function withSubprocess(mode: 'STRICT' | 'PERMISSIVE' = 'PERMISSIVE'): Record<string, string> {
  const program = process.env['SECBOX_SUBPROCESS_PROGRAM'];
  if (program === undefined)
    throw new Error('SECBOX_SUBPROCESS_PROGRAM is not set; run the tests with npm test.');
  return { SECBOX_SUBPROCESS: 'on', SECBOX_SUBPROCESS_PROGRAM: program, SECBOX_SECURITY_MODE: mode };
}

export async function post<T>(url: string, path: string, body: unknown, headers = {}): Promise<T> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status >= 300) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text) as T;
}

export async function get<T>(url: string, path: string): Promise<T> {
  return (await (await fetch(`${url}${path}`)).json()) as T;
}

export function runCode(
  url: string,
  language: string,
  code: string,
  more: object = {},
): Promise<RunCodeAnswer> {
  return post(url, '/run_code', { language, code, ...more });
}

/** On a machine that is busy, the first look at code may take longer than it has; who cannot be told of runs in a container. */
export async function untilAssessed(url: string): Promise<void> {
  for (const [language, code] of [
    ['python', 'print(1)'],
    ['bash', 'echo 1'],
  ] as const) {
    for (;;) {
      const { risk } = await runCode(url, language, code);
      if (risk.complete) break;
    }
  }
}

export const spoolOf = (dataDir: string, execId: string) => join(dataDir, 'workspace/spool', execId);

/** Submits a shell script that says `up` when it is, and gives its id, once it has. */
export async function begin(url: string, dataDir: string, script: string): Promise<string> {
  const exec = { kind: 'shell', command: 'bash', args: ['-lc', script] };
  const body = { project_id: 'p', exec };
  const { exec_id } = await post<ExecAnswer>(url, '/sandbox/execs', body, { prefer: 'respond-async' });
  const output = join(spoolOf(dataDir, exec_id), 'stdout.txt');
  while ((await readFile(output, 'utf8').catch(() => '')) !== 'up\n')
    await new Promise((resolve) => setTimeout(resolve, 20));
  return exec_id;
}
