import { SchemaCompiler, type ValueCheck } from '@secbox/skill-manifest';
import { isErrno, type Collection, type Directory } from '@secbox/workspace';
import type { OutputSummary } from './output-file.js';
import type { InvokedProgram } from './skill-run.js';

/** Where a program leaves its output; without it, what it printed is the output. */
export const outputFileName = 'output.json';
/** The longest that an output can be; what is larger is an artifact. */
export const maxOutputBytes = 4 * 1024 ** 2;
/** Whoever reads an answer calls itself for each level, and so does what writes it. */
const deepest = 256;
const mostKept = 256;

export interface LeftBehind {
  readonly artifacts: Directory;
  readonly spool: Directory;
  readonly collection: Pick<Collection, 'files'>;
  readonly stdout: OutputSummary;
}

/** Holds the output of skills against what their manifests promise. */
export class OutputContracts {
  readonly #compiler = new SchemaCompiler();
  /** By digest: the same skill is invoked again and again. */
  readonly #checks = new Map<string, ValueCheck>();

  /** What is wrong with it in words, or null. */
  async check(skill: InvokedProgram, left: LeftBehind): Promise<string | null> {
    const isFile = left.collection.files.some(({ path }) => path === outputFileName);
    const source = isFile ? outputFileName : 'stdout';
    if (!isFile && left.stdout.truncated)
      return 'stdout is longer than is kept, so that it is no whole output';
    const bytes = await (isFile ? read(left.artifacts, outputFileName) : read(left.spool, 'stdout.txt'));
    if (!bytes) return `${source} has more than ${maxOutputBytes} bytes; leave what is larger as an artifact`;
    const output = outputOf(bytes, { isFile, outputs: skill.outputs });
    if (!output && isTooDeep(bytes)) return `${source} is nested more than ${deepest} levels deep`;
    if (!output) return `${source} is not JSON`;
    const [problem, ...more] = this.#checkOf(skill)(output.value);
    if (!problem) return null;
    const expected = problem.expected === undefined ? '' : `, expected ${problem.expected}`;
    const others = more.length === 0 ? '' : ` (and ${more.length} more)`;
    return `${source}: "${problem.pointer}" ${problem.message}${expected}${others}`;
  }

  #checkOf({ digest, outputs }: InvokedProgram): ValueCheck {
    const known = this.#checks.get(digest);
    if (known) return known;
    const check = this.#compiler.compile(outputs);
    if (this.#checks.size >= mostKept) this.#checks.clear();
    this.#checks.set(digest, check);
    return check;
  }
}

/** Printed text is JSON, unless text is what the skill promises. Undefined when it is not, or nested too deep. */
export function outputOf(
  bytes: Buffer,
  { isFile, outputs }: { readonly isFile: boolean; readonly outputs: InvokedProgram['outputs'] },
): { readonly value: unknown } | undefined {
  const text = bytes.toString('utf8');
  if (!isFile && outputs['type'] === 'string') return { value: text };
  if (isTooDeep(bytes)) return undefined;
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}

/** By the brackets that stand in no string: `{` and `[`, `}` and `]`. */
function isTooDeep(json: Buffer): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length && depth <= deepest; at += 1) {
    const char = json[at];
    if (inString) {
      if (char === 0x5c) at += 1;
      else if (char === 0x22) inString = false;
    } else if (char === 0x22) inString = true;
    else if (char === 0x7b || char === 0x5b) depth += 1;
    else if (char === 0x7d || char === 0x5d) depth -= 1;
  }
  return depth > deepest;
}

async function read(folder: Directory, name: string): Promise<Buffer | undefined> {
  try {
    const file = folder.openFile(name);
    try {
      const { size } = file.stat();
      return size > maxOutputBytes ? undefined : await file.readAll();
    } finally {
      file.close();
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return Buffer.alloc(0);
    throw error;
  }
}
