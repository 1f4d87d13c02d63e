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
    const sourced = name === 'source' || name === '.';
    if (!sourced && !languageOf(name)) return undefined;
    const script = args.find((arg) => !arg.startsWith('-'));
    const stream = script === undefined ? undefined : this.#written.get(plain(script));
    return stream && stream !== unknownStream ? { words: [sourced ? 'bash' : name], stream } : undefined;
  }

  /** The words with their relative paths as seen from where the script began. */
  fromStart(words: readonly string[]): readonly string[] {
    const [name = '', ...args] = words;
    if (!destructive.has(name) || placeOf(this.#folder) === 'own') return words;
    const isRelative = (arg: string) => !/^[-/~(){}!;+]/.test(arg) && !arg.startsWith(hole);
    return [name, ...args.map((arg) => (isRelative(arg) ? `${this.#folder}/${arg}` : arg))];
  }
}

function plain(path: string): string {
  return path.replace(/^(\.\/)+/, '');
}
