import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { serviceArguments } from '../../docker/setup/serve.mjs';

export const repositoryRoot = fileURLToPath(new URL('../../', import.meta.url));

/** A program of ours in a process of its own, with what it has printed so far. */
export interface ServerProcess {
  readonly child: ChildProcess;
  readonly printed: () => string;
  /** Settles with the first match in what it prints; fails when it ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends the signal to this process alone, and settles with how it ended, once all it started has. */
  end(signal: NodeJS.Signals): Promise<ProcessEnd>;
  /** As a terminal does on Ctrl-C: the signal reaches every process of the foreground at once. */
  interrupt(): Promise<ProcessEnd>;
  /** Settles when it ends by itself. */
  readonly ended: Promise<ProcessEnd>;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export function startProcess(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): ServerProcess {
  const child = spawn(command, args, {
    cwd: repositoryRoot,
    // Whoever counts containers asks for those that wait ahead.
    env: { ...process.env, NODE_OPTIONS: '', PORT: '0', SECBOX_POOL_SIZE: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that interrupt() reaches it and not us.
    detached: true,
  });
  const chunks: string[] = [];
  child.stdout.on('data', (data: Buffer) => chunks.push(data.toString()));
  child.stderr.on('data', (data: Buffer) => chunks.push(data.toString()));
  const ended = once(child, 'close').then(([code, signal]): ProcessEnd => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }));
  const printed = () => chunks.join('');
  return {
    child,
    printed,
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const match = pattern.exec(printed());
          if (match) resolve(match);
        };
        child.stdout.on('data', look);
        child.stderr.on('data', look);
        look();
        void ended.then(() =>
          reject(new Error(`It ended without printing ${String(pattern)}:\n${printed()}`)),
        );
      }),
    ended,
    end: (signal) => {
      child.kill(signal);
      return ended;
    },
    interrupt: () => {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGINT');
      return ended;
    },
  };
}

/** The compiled service as npm start runs it, on a port of its own, once it serves. */
export async function startServer(env: NodeJS.ProcessEnv): Promise<ServerProcess & { readonly url: string }> {
  const server = startProcess(process.execPath, serviceArguments(repositoryRoot), {
    SECBOX_AUTH: 'off',
    ...env,
  });
  const [, url = ''] = await server.waitFor(/Secbox serves on (http:\S+)/);
  return { ...server, url };
}
