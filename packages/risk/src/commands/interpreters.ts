import type { AssessedLanguage } from '../language.js';
import type { Given, Piece } from '../piece.js';
import { downloadedHole, hole } from '../place.js';
import type { Spot } from '../report.js';
import { remembered } from '../values/remembered.js';
import { shells } from './known-commands.js';
import type { Stream } from './stream.js';

interface Run {
  readonly words: readonly string[];
  readonly at: Spot;
  readonly stdin?: Stream;
}

/** Which language a program of this name or path runs, if it is what it says; versions such as python3.12 count. */
export const languageOf = remembered((program): AssessedLanguage | undefined => {
  const name = program.split('/').at(-1) ?? '';
  if (shells.has(name)) return 'bash';
  if (/^(python|pypy)[0-9.]*$/.test(name)) return 'python';
  return name === 'node' || name === 'nodejs' || name === 'bun' || name === 'deno' ? 'javascript' : undefined;
});

export function isInterpreter(name: string): boolean {
  return languageOf(name) !== undefined;
}

/** The options after which the next word is code. */
const codeOptions: Record<AssessedLanguage, RegExp> = {
  bash: /^-[a-zA-Z]*c[a-zA-Z]*$/,
  python: /^-[a-zA-Z]*c$/,
  javascript: /^(-[ep]+|--eval|--print)$/,
};

export function codeOption(language: AssessedLanguage, word: string): boolean {
  return codeOptions[language].test(word);
}

/** Options of which the next word is a value. */
const valued: Record<AssessedLanguage, readonly string[]> = {
  bash: ['-o', '-O', '+o', '--rcfile', '--init-file'],
  python: ['-W', '-X', '--check-hash-based-pycs'],
  javascript: ['-r', '--require', '--import', '--loader', '-C', '--conditions'],
};

/** Modules that python runs with -m and that do no more than they say. */
const harmlessModules = [
  'json.tool',
  'timeit',
  'calendar',
  'this',
  'unittest',
  'tabnanny',
  'ast',
  'tokenize',
  'dis',
  'base64',
];

export function runInterpreter(piece: Piece, name: string, { words, at, stdin }: Run): void {
  const language = languageOf(name);
  if (!language) return;
  const args = words.slice(1);
  const isShell = language === 'bash';
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (codeOption(language, arg)) {
      // A shell takes more options before its code; what follows is $0 and the parameters.
      while (isShell && /^[-+]/.test(args[index + 1] ?? '')) index += 1;
      const given = { args: args.slice(index + 3), ...(stdin && { stdin }) };
      runText(piece, language, args[index + 1] ?? hole, at, given);
      return;
    }
    // Code that is glued to its option: python -c'…' reads so too.
    const glued =
      language === 'python' ? /^-c([\s\S]+)$/.exec(arg)?.[1] : /^--eval=([\s\S]+)$/.exec(arg)?.[1];
    if (glued !== undefined && !isShell) {
      runText(piece, language, glued, at, undefined);
      return;
    }
    if (language === 'python' && arg.startsWith('-m')) {
      runModule(piece, arg === '-m' ? (args[index + 1] ?? hole) : arg.slice(2), at);
      return;
    }
    if (/^(--version|-V|--help|-h|-v)$/.test(arg) && !isShell) return;
    if (valued[language].includes(arg)) {
      if (/require|import|loader|rcfile|init|^-r$/.test(arg)) piece.add('cannot-tell.unseen-script', at);
      index += 1;
    } else if (!arg.startsWith('-') && !arg.startsWith('+')) {
      if (arg === '/dev/stdin') break;
      piece.add('cannot-tell.unseen-script', at);
      return;
    }
  }
  runStream(piece, language, stdin, at, args.includes('-i'));
}

function runModule(piece: Piece, module: string, at: Spot): void {
  if (harmlessModules.includes(module)) return;
  if (module === 'pip' || module === 'ensurepip') piece.add('network.install', at);
  else if (module === 'http.server') {
    piece.fact('network');
    piece.add('network.use', at);
  } else piece.add('cannot-tell.unseen-script', at);
}

function runText(
  piece: Piece,
  language: AssessedLanguage,
  code: string,
  at: Spot,
  given: Given | undefined,
): void {
  if (code.includes(downloadedHole)) piece.add('code.downloaded', at);
  else if (code.trim() === hole) piece.add('code.computed', at);
  else if (code.includes(hole)) {
    piece.add(language === 'bash' ? 'process.computed' : 'code.computed', at);
    const filled = code.replaceAll(hole, language === 'bash' ? '"$SECBOX_UNKNOWN"' : 'unknown');
    piece.runs(language, filled, at, given);
  } else piece.runs(language, code, at, given);
}

/** What an interpreter reads from its stdin is its program. */
export function runStream(
  piece: Piece,
  language: AssessedLanguage,
  stdin: Stream | undefined,
  at: Spot,
  interactive = false,
): void {
  if (language === 'bash' && (interactive || stdin?.kind !== 'text')) piece.fact('shell');
  switch (stdin?.kind) {
    case undefined:
      piece.add('cannot-tell.unseen-script', at);
      return;
    case 'download':
      piece.add('code.downloaded', at);
      return;
    case 'unknown':
      piece.add('code.computed', at);
      return;
    case 'text':
      if (stdin.decoded) piece.add('code.decoded', at);
      runText(piece, language, stdin.text, at, undefined);
  }
}
