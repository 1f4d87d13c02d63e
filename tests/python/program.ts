import type { InitRequest } from '../../packages/container-engine/src/init/encode-request.js';

/** One request, and what shows that it did what it is there for. */
export interface Program {
  readonly name: string;
  /** The arguments of python. `$` stands for the folder of its own files, in /workspace/inputs. */
  readonly args: readonly string[];
  readonly command?: string;
  /** Its files, by their path in the folder. */
  readonly files?: Readonly<Record<string, string | Buffer>>;
  readonly stdin?: string | Buffer;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly umask?: number;
  readonly rlimits?: InitRequest['rlimits'];
  /** Sent to every process of the sandbox once the program has written something. */
  readonly signal?: number;
  /** Bytes that no string of ours can hold, in the place of a text of the same length. */
  readonly raw?: readonly [text: string, bytes: Buffer];
  /** The plain run it is compared with has a container of its own, under the init. */
  readonly alone?: true;
  readonly says?: RegExp;
  readonly complains?: RegExp;
  /** An exit code, or the signal it dies of; 0 if it is not said. */
  readonly ends?: number | { readonly signal: number };
}

type More = Omit<Program, 'name' | 'args'>;

/** `python -c`. */
export function code(
  name: string,
  lines: string | readonly string[],
  more: More & { args?: string[] } = {},
): Program {
  const { args = [], ...rest } = more;
  const text = typeof lines === 'string' ? lines : lines.join('\n');
  return { name, args: ['-c', text, ...args], ...rest };
}

/** `python <file>`. */
export function file(
  name: string,
  source: string | Buffer | readonly string[],
  more: More & { args?: string[] } = {},
): Program {
  const { args = [], files = {}, ...rest } = more;
  const main = typeof source === 'string' || Buffer.isBuffer(source) ? source : source.join('\n');
  return { name, args: ['$/main.py', ...args], files: { 'main.py': main, ...files }, ...rest };
}
