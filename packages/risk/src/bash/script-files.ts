import { startOf } from '../commands/interpreter-options.js';
import { languageOf } from '../commands/interpreters.js';
import { unknownStream, type Stream } from '../commands/stream.js';
import { hole, placeOf } from '../place.js';

/** Programs whose relative paths depend on where the script went before, to somebody's ruin. */
const destructive = new Set(['rm', 'rmdir', 'unlink', 'shred', 'find', 'chmod', 'chown']);

/** What a script has put into files so far, and in which folder it is. */
export class ScriptFiles {
  readonly #written = new Map<string, Stream>();
  #folder = '.';

  write(path: string, content: Stream, append: boolean): void {
    const before = append ? this.#written.get(plain(path)) : undefined;
    const both = before?.kind === 'text' && content.kind === 'text';
    this.#written.set(plain(path), both ? { ...content, text: before.text + content.text } : content);
  }

  /** Notes what a command does to files or to the folder. */
  note(name: string, args: readonly string[]): void {
    if (name === 'curl' || name === 'wget') this.#download(args);
    else if (name === 'cd' || name === 'pushd') {
      const [to = '~'] = args.filter((arg) => !arg.startsWith('-'));
      this.#folder = /^[/~]/.test(to) || to.startsWith(hole) ? to : `${this.#folder}/${to}`;
    }
  }

  #download(args: readonly string[]): void {
    for (const [index, arg] of args.entries()) {
      if (/^(-[a-zA-Z]*[oO]|--output|--output-document)$/.test(arg))
        this.write(args[index + 1] ?? '', { kind: 'download' }, false);
      else if (arg.includes('://')) this.write(arg.split('/').at(-1) ?? '', { kind: 'download' }, false);
    }
  }

  /** Where a command runs a file that the script wrote: the interpreter, and what it reads. */
  scriptIn(words: readonly string[]): { words: readonly string[]; stream: Stream } | undefined {
    const [name = '', ...args] = words;
    if (name.includes('/')) {
      const own = this.#written.get(plain(name));
      if (own) return { words: ['bash'], stream: own };
    }
    let stream: Stream | undefined;
    const run = interpreterOf(name, args, (script) => {
      stream = this.#written.get(plain(script));
      return stream !== undefined && stream !== unknownStream;
    });
    return run && stream && { words: run, stream };
  }

  /** The words with their relative paths as seen from where the script began. */
  fromStart(words: readonly string[]): readonly string[] {
    const [name = '', ...args] = words;
    if (!destructive.has(name) || placeOf(this.#folder) === 'own') return words;
    const isRelative = (arg: string) => !/^[-/~(){}!;+]/.test(arg) && !arg.startsWith(hole);
    return [name, ...args.map((arg) => (isRelative(arg) ? `${this.#folder}/${arg}` : arg))];
  }
}

/**
 * The interpreter with its options, where the script that it runs, or the file that an option makes it load, is the one
 * asked for: it does what it would do with that on its stdin.
 */
export function interpreterOf(
  name: string,
  args: readonly string[],
  isScript: (path: string) => boolean,
): readonly string[] | undefined {
  if (name === 'source' || name === '.') {
    const [script = ''] = args.filter((arg) => arg !== '--');
    return isScript(script) ? ['bash'] : undefined;
  }
  const language = languageOf(name);
  if (!language) return undefined;
  const at = args.findIndex((arg) => !/^[-+]/.test(arg) && isScript(arg));
  const options = args.slice(0, at);
  if (at < 0 || startOf(language, options).from !== 'stdin') return undefined;
  const { from, unseen } = startOf(language, args.slice(0, at + 1));
  return from === 'script' || unseen ? [name, ...options] : undefined;
}

function plain(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}
