import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compileService } from '../../docker/setup/compile.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

export interface SecboxRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface SecboxOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Called with all of stderr so far and what sends a signal. */
  readonly onStderr?: (text: string, kill: (signal: NodeJS.Signals) => void) => void;
}

const main = join(repositoryRoot, 'apps/cli/dist/main.js');

/** To be called once before the program is run. */
export async function compileSecbox(): Promise<void> {
  const { signal } = new AbortController();
  const env = { ...process.env, NODE_OPTIONS: '' };
  await compileService({ root: repositoryRoot, env, signal, say: () => undefined, projects: ['apps/cli'] });
}

/** The real program, in a process of its own that has neither our keys nor our terminal. */
export function runSecbox(args: readonly string[], options: SecboxOptions = {}): Promise<SecboxRun> {
  return run(process.execPath, [main, ...args], options);
}

/** The same on a terminal; what it shows is on stdout. */
export async function runOnTerminal(
  args: readonly string[],
  options: SecboxOptions = {},
): Promise<SecboxRun> {
  const quoted = [process.execPath, main, ...args]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    .join(' ');
  // It keeps a record of all it shows.
  const record = await mkdtemp(join(tmpdir(), 'secbox-terminal-'));
  try {
    return await run(
      'script',
      ['--quiet', '--return', '--command', quoted, join(record, 'typescript')],
      options,
    );
  } finally {
    await rm(record, { recursive: true });
  }
}

async function run(program: string, args: readonly string[], options: SecboxOptions): Promise<SecboxRun> {
  const { cwd = repositoryRoot, env = {}, stdin = '', onStderr } = options;
  const child = spawn(program, args, {
    cwd,
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      TERM: 'xterm',
      SECBOX_DATA_DIR: '/nonexistent',
      ...env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  child.stdout.on('data', (data: Buffer) => (text.stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => {
    text.stderr += data.toString();
    onStderr?.(text.stderr, (signal) => child.kill(signal));
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...text };
}
