import { execFileSync } from 'node:child_process';
import { isErrno } from '../directory.js';
import type { Wslpath } from './convert-root.js';
import type { RuntimeMode } from './runtime-mode.js';

/** It answers at once, or its WSL has to be started first. */
const answersWithinMs = 15_000;

/** How the program is reached from each system; from Linux there is none. */
const commands: Readonly<Record<RuntimeMode, readonly [string, ...string[]] | undefined>> = {
  wsl: ['wslpath'],
  windows: ['wsl.exe', 'wslpath'],
  linux: undefined,
};

/** Asked once, when the server starts or Settings change. */
export function wslpathOf(
  mode: RuntimeMode,
  [program, ...first] = commands[mode] ?? [],
): Wslpath | undefined {
  if (program === undefined) return undefined;
  return (path, to) => {
    try {
      const args = [...first, to === 'windows' ? '-w' : '-u', path];
      const answer = execFileSync(program, args, {
        encoding: 'utf8',
        timeout: answersWithinMs,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return answer.replace(/\r?\n$/, '');
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  };
}
