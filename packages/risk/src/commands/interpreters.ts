import type { AssessedLanguage } from '../language.js';
import type { Given, Piece } from '../piece.js';
import { downloadedHole, hole, numberHole } from '../place.js';
import type { Spot } from '../report.js';
import { remembered } from '../values/remembered.js';
import { startOf } from './interpreter-options.js';
import { shells } from './known-commands.js';
import type { Stream } from './stream.js';
import { readPaths, touchPath } from './touch-path.js';

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

/** Modules that python runs with -m and that do no more than read the files they are given. */
const readingModules = ['json.tool', 'calendar', 'this', 'tabnanny', 'ast', 'tokenize', 'dis', 'base64'];

export function runInterpreter(piece: Piece, name: string, { words, at, stdin }: Run): void {
  const language = languageOf(name);
  if (!language) return;
  const { from, text, rest, unseen, interactive } = startOf(language, words.slice(1));
  if (unseen || interactive) piece.add('cannot-tell.unseen-script', at);
  switch (from) {
    case 'code':
      // The first word behind the code of a shell is its $0.
      runText(piece, language, text, at, { args: rest.slice(1), ...(stdin && { stdin }) });
      break;
    case 'module':
      runModule(piece, text, rest, at);
      break;
    case 'script':
      piece.add('cannot-tell.unseen-script', at);
      break;
    case 'stdin':
      runStream(piece, language, stdin, at, interactive);
      return;
    case 'nothing':
      return;
  }
  if (interactive) runStream(piece, language, stdin, at, interactive);
}

function runModule(piece: Piece, module: string, args: readonly string[], at: Spot): void {
  if (readingModules.includes(module)) {
    const paths = args.filter((arg) => !arg.startsWith('-'));
    const output = module === 'json.tool' ? paths[1] : undefined;
    if (output !== undefined) touchPath(piece, 'write', output, at);
    readPaths(piece, output === undefined ? paths : paths.slice(0, 1), at);
  } else if (module === 'pip' || module === 'ensurepip') piece.add('network.install', at);
  else if (module === 'http.server') {
    piece.fact('network');
    piece.add('network.use', at);
  } else {
    piece.add('cannot-tell.unseen-script', at);
    if (module === 'timeit') runText(piece, 'python', timedCode(args), at, undefined);
  }
}

/** The statements that timeit is given, those of its set-up too. What they import it finds in its folder first, unseen. */
function timedCode(args: readonly string[]): string {
  return args
    .map((arg) => arg.replace(/^(-s|--setup=)/, ''))
    .filter((arg) => arg !== '' && !arg.startsWith('-'))
    .join('\n');
}

function runText(
  piece: Piece,
  language: AssessedLanguage,
  text: string,
  at: Spot,
  given: Given | undefined,
): void {
  const code = text.replaceAll(numberHole, hole);
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
