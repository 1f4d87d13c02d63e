import { startOf } from '../commands/interpreter-options.js';
import { languageOf } from '../commands/interpreters.js';
import { unknownStream, type Stream } from '../commands/stream.js';
import { atFolder, type Piece } from '../piece.js';
import { below, hole, placeOf } from '../place.js';

interface Whereabouts {
  readonly folder: string;
  /** Where `cd -` goes. */
  readonly previous: string;
  /** Where `popd` goes, the last first. */
  readonly stack: readonly string[];
}

/** What a script has put into files so far, and in which folder it is. */
export class ScriptFiles {
  readonly #written = new Map<string, Stream>();
  /** Another object each time that it goes somewhere. */
  whereabouts: Whereabouts = { folder: '.', previous: '.', stack: [] };
  /** What takes the script elsewhere: programs of the shell, and functions that use them. */
  readonly movers = new Set(['cd', 'pushd', 'popd']);

  write(path: string, content: Stream, append: boolean): void {
    const before = append ? this.#written.get(plain(path)) : undefined;
    const both = before?.kind === 'text' && content.kind === 'text';
    this.#written.set(plain(path), both ? { ...content, text: before.text + content.text } : content);
  }

  /** Notes what a command does to files or to the folder. */
  note(name: string, args: readonly string[]): void {
    const [first = '', ...rest] = args.filter((arg) => arg !== '--');
    switch (name) {
      case 'curl':
      case 'wget':
        this.#download(args);
        return;
      case 'command':
      case 'builtin':
        this.note(first, rest);
        return;
      case 'cd':
        this.go(this.#target(args, '~'));
        return;
      case 'pushd': {
        const { folder, stack } = this.whereabouts;
        const [top = folder, ...others] = stack;
        const swaps = args.length === 0;
        this.go(this.#target(args, top), [folder, ...(swaps ? others : stack)]);
        return;
      }
      case 'popd': {
        const [top = this.whereabouts.folder, ...others] = this.whereabouts.stack;
        this.go(args.length === 0 ? top : hole, others);
        return;
      }
      case 'eval':
      case 'trap': {
        const words = args
          .join(' ')
          .replace(/["'\\]/g, '')
          .split(/[\s;&|(){}`]+/);
        // Where that goes is not followed.
        if (words.some((word) => this.movers.has(word))) this.go(hole);
      }
    }
  }

  go(folder: string, stack = this.whereabouts.stack): void {
    this.whereabouts = { folder, previous: this.whereabouts.folder, stack };
  }

  /** Where there are several, it is not known which of them it is. */
  #target(args: readonly string[], otherwise: string): string {
    const { folder, previous } = this.whereabouts;
    const [to, ...others] = args.filter((arg) => !/^-[A-Za-z@]+$/.test(arg) && arg !== '--');
    if (others.length > 0 || /^[-+]\d/.test(to ?? '')) return hole;
    return to === '-' ? previous : below(folder, to ?? otherwise);
  }

  /** The piece as commands see it that run where the script is now. */
  inFolder(piece: Piece): Piece {
    const { folder } = this.whereabouts;
    return placeOf(folder) === 'own' ? piece : atFolder(piece, folder);
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
