import type { Piece } from '../piece.js';
import { hole, withNumbers } from '../place.js';
import type { Given } from './special.js';
import { touchPath } from './touch-path.js';

/** GNU sed runs commands and writes files; its scripts are short enough to be read command by command. */
export function runSed(piece: Piece, { args, at, again }: Given): void {
  const { scripts, files, inPlace, fromFile } = optionsOf(args);
  if (fromFile) piece.add('cannot-tell.unseen-script', at);
  for (const effect of effectsOf(withNumbers(scripts.join('\n')))) {
    switch (effect.kind) {
      case 'reads':
        touchPath(piece, 'read', effect.text, at);
        break;
      case 'writes':
        touchPath(piece, 'write', effect.text, at);
        break;
      case 'runs':
        // Without a command of its own it runs what it has read.
        piece.add('code.computed', at);
        if (effect.text !== '') again(['sh', '-c', effect.text]);
        break;
      case 'unread':
        piece.add('cannot-tell.language', at);
    }
  }
  for (const file of files) touchPath(piece, inPlace ? 'write' : 'read', file, at);
}

function optionsOf(args: readonly string[]) {
  const scripts: string[] = [];
  const files: string[] = [];
  let inPlace = false;
  let fromFile = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    const [, long = '', value] = /^(--[a-z-]+)(?:=([^]*))?$/.exec(arg) ?? [];
    // Letters that take no value, then perhaps one that takes the rest, or the next word.
    const [, letter = '', glued = ''] = /^-[nrEsuz]*(?:([efil])([^]*))?$/.exec(arg) ?? [];
    const next = () => args[(index += 1)] ?? hole;
    if (arg === '--') {
      files.push(...args.slice(index + 1));
      break;
    }
    if (long.startsWith('--e') || letter === 'e') scripts.push((long ? value : glued) || next());
    else if (long.startsWith('--fi') || letter === 'f') {
      fromFile = true;
      if (!(long ? value : glued)) next();
    } else if (long.startsWith('--i') || letter === 'i') inPlace = true;
    else if (letter === 'l' && glued === '') next();
    else if (!arg.startsWith('-') || arg === '-') files.push(arg);
  }
  if (scripts.length === 0 && !fromFile) scripts.push(files.shift() ?? '');
  return { scripts, files, inPlace, fromFile };
}

interface Effect {
  readonly kind: 'reads' | 'writes' | 'runs' | 'unread';
  readonly text: string;
}

/** What the commands of a script do beyond changing the text; `unread` where it is not understood. */
export function effectsOf(script: string): readonly Effect[] {
  const effects: Effect[] = [];
  let at = 0;
  const peek = () => script.charAt(at);
  const skip = (pattern: RegExp) => {
    pattern.lastIndex = at;
    at += pattern.exec(script)?.[0].length ?? 0;
  };
  const line = () => {
    const end = script.indexOf('\n', at);
    const text = script.slice(at, end < 0 ? script.length : end);
    at += text.length;
    return text.trim();
  };
  /** Past the next mark that no backslash is before. */
  const upTo = (mark: string): boolean => {
    for (; at < script.length; at += 1) {
      if (peek() === '\\') at += 1;
      else if (peek() === mark) {
        at += 1;
        return true;
      }
    }
    return false;
  };
  const address = (): boolean => {
    if (peek() === '/' || peek() === '\\') {
      if (peek() === '\\') at += 1;
      const mark = peek();
      at += 1;
      if (!upTo(mark)) return false;
      skip(/[IM]*/y);
    } else skip(/[\d$~+]*/y);
    return true;
  };
  const unread = (): readonly Effect[] => [...effects, { kind: 'unread', text: '' }];

  for (;;) {
    skip(/[\s;{}]*/y);
    if (at >= script.length) return effects;
    if (!address()) return unread();
    skip(/\s*/y);
    if (peek() === ',') {
      at += 1;
      skip(/\s*/y);
      if (!address()) return unread();
    }
    skip(/[\s!]*/y);
    const command = peek();
    at += 1;
    switch (command) {
      case '{':
      case '}':
        break;
      case 's':
      case 'y': {
        const mark = peek();
        at += 1;
        if (mark === '' || !upTo(mark) || !upTo(mark)) return unread();
        if (command === 'y') break;
        const start = at;
        skip(/[gpiIMme\d]*/y);
        if (script.slice(start, at).includes('e')) effects.push({ kind: 'runs', text: '' });
        if (peek() === 'w') {
          at += 1;
          effects.push({ kind: 'writes', text: line() });
        }
        break;
      }
      case 'e':
        effects.push({ kind: 'runs', text: line() });
        break;
      case 'w':
      case 'W':
        effects.push({ kind: 'writes', text: line() });
        break;
      case 'r':
      case 'R':
        effects.push({ kind: 'reads', text: line() });
        break;
      case 'a':
      case 'i':
      case 'c':
        // Its text goes on where a line ends with a backslash.
        while (line().endsWith('\\') && at < script.length) at += 1;
        break;
      case '#':
        line();
        break;
      case ':':
      case 'b':
      case 't':
      case 'T':
        skip(/[^;\n}]*/y);
        break;
      case 'q':
      case 'Q':
      case 'l':
      case 'L':
        skip(/\s*\d*/y);
        break;
      default:
        if (!'=dDgGhHnNpPxzFv'.includes(command) || command === '') return unread();
    }
  }
}
