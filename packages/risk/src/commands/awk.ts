import type { Piece } from '../piece.js';
import { hole, withNumbers } from '../place.js';
import type { Given } from './special.js';
import { readPaths, touchPath } from './touch-path.js';

/** awk has no grammar here: its program is read word by word for what leaves awk. */
export function runAwk(piece: Piece, { args, at, again }: Given): void {
  const { programs, files, fromFile, loads, unseen } = optionsOf(args);
  if (fromFile || unseen) piece.add('cannot-tell.unseen-script', at);
  if (loads) piece.add('code.native', at);
  for (const program of programs.map(withNumbers)) {
    if (program.includes(hole)) piece.add('code.computed', at);
    for (const { kind, text } of effectsOf(program)) {
      if (kind === 'writes') touchPath(piece, 'write', text, at);
      else {
        piece.add('code.computed', at);
        if (text !== hole) again(['sh', '-c', text]);
      }
    }
  }
  readPaths(
    piece,
    files.filter((file) => !/^[A-Za-z_]\w*=/.test(file)),
    at,
  );
}

function optionsOf(args: readonly string[]) {
  const programs: string[] = [];
  let fromFile = false;
  let loads = false;
  let unseen = false;
  let index = 0;
  for (; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '--') {
      index += 1;
      break;
    }
    if (!arg.startsWith('-') || arg === '-') break;
    const [, letter = '', glued = ''] = /^-([a-zA-Z])([^]*)$/.exec(arg) ?? [];
    const [, long = '', value] = /^--([a-z-]+)(?:=([^]*))?$/.exec(arg) ?? [];
    const isValued = letter === '' ? value === undefined && valued.has(long) : 'fFveEilo'.includes(letter);
    const given = (letter === '' ? value : glued) || (isValued ? (args[(index += 1)] ?? hole) : '');
    if (letter === 'e' || long === 'source') programs.push(given);
    // A library is a file of awk's as well.
    else if ('fEi'.includes(letter || ' ') || /^(file|exec|include)$/.test(long)) fromFile = true;
    else if (letter === 'l' || long === 'load') loads = true;
    else if (!harmless.test(arg)) unseen = true;
  }
  const rest = args.slice(index);
  if (programs.length === 0 && !fromFile) programs.push(...rest.splice(0, 1));
  return { programs, files: rest, fromFile, loads, unseen };
}

const valued = new Set(['file', 'field-separator', 'assign', 'source', 'exec', 'include', 'load']);

/** Options that bring no program along; those in another bundle, or cut short as GNU's may be, are not among them. */
const harmless =
  /^-([Fv]|[bcCghIkLMnNOPrsStV]+$)|^--(assign|bignum|characters-as-bytes|csv|field-separator|help|lint|non-decimal-data|optimize|posix|re-interval|sandbox|traditional|use-lc-numeric|version)(=|$)/;

interface Effect {
  readonly kind: 'writes' | 'runs';
  /** A path or a command; a hole where it is computed. */
  readonly text: string;
}

/** In turn: spaces, comments, texts, words, and marks; patterns are read where they can stand. */
const token = /\s+|#[^\n]*|"(?:\\[^]|[^"\\])*"?|[\w$]+|\|\||>>|[^]/y;
const pattern = /\/(?:\\[^]|\[(?:\\[^]|[^\]\\])*\]|[^/\\\n])*\//y;

function effectsOf(program: string): readonly Effect[] {
  const effects: Effect[] = [];
  const tokens = tokensOf(program);
  let prints = false;
  let open = 0;
  for (const [index, word] of tokens.entries()) {
    const next = tokens[index + 1] ?? '';
    // A text alone: another part behind it makes it a part only.
    const after = tokens[index + 2] ?? '';
    const isWhole = after === '' || /^[;}\n)|&]/.test(after);
    const named = next.startsWith('"') && isWhole ? next.slice(1, -1) : hole;
    if (word === '(') open += 1;
    else if (word === ')') open -= 1;
    else if (word === ';' || word === '}' || word === '\n') {
      prints = false;
      open = 0;
    } else if (word === 'print' || word === 'printf') {
      prints = true;
      open = 0;
    } else if (prints && open === 0 && (word === '>' || word === '>>'))
      effects.push({ kind: 'writes', text: named });
    else if (word === '|' && next === 'getline') effects.push({ kind: 'runs', text: hole });
    else if (word === '|') effects.push({ kind: 'runs', text: named });
    else if (word === 'system') {
      const [given = '', end = ''] = tokens.slice(index + 2);
      const isText = next === '(' && given.startsWith('"') && end === ')';
      effects.push({ kind: 'runs', text: isText ? given.slice(1, -1) : hole });
    }
    // @f() calls whatever f names, and @load and @include bring more.
    else if (word === '@') effects.push({ kind: 'runs', text: hole });
  }
  return effects;
}

function tokensOf(program: string): readonly string[] {
  const tokens: string[] = [];
  let at = 0;
  while (at < program.length) {
    const before = tokens.at(-1) ?? '';
    // Behind a value a slash divides.
    const isValue = /^[\w$")\]]/.test(before) && !/^(return|print|printf|in|case|getline)$/.test(before);
    const kind = program.charAt(at) === '/' && !isValue ? pattern : token;
    kind.lastIndex = at;
    const text = kind.exec(program)?.[0] ?? program.charAt(at);
    at += text.length;
    if (text.includes('\n') && text.trim() === '') tokens.push('\n');
    else if (text.trim() !== '' && !text.startsWith('#')) tokens.push(kind === pattern ? '/' : text);
  }
  return tokens;
}
