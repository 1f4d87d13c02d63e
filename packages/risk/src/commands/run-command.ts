import { atFolder, type Piece } from '../piece.js';
import { below, hole, placeOf } from '../place.js';
import type { Spot } from '../report.js';
import { assessSetting, assessUnsetting } from './environment.js';
import { isKnownPlace } from './known-place.js';
import { commandsIn } from './command-options.js';
import { effects, elevators, installers, prefixes, shells, type Effect } from './known-commands.js';
import { fedCommands } from './fed-commands.js';
import { isInterpreter, runInterpreter } from './interpreters.js';
import type { Stream } from './stream.js';
import { specialCommands } from './special-commands.js';
import { readPaths, touchPath } from './touch-path.js';

export interface Invocation {
  readonly words: readonly string[];
  readonly at: Spot;
  /** What comes through a pipe, a heredoc or a here-string. */
  readonly stdin?: Stream;
}

const maxPrefixes = 12;

/** What it means to run a program with these words, whichever language starts it. */
export function runCommand(piece: Piece, invocation: Invocation, depth = 0): void {
  const { words, at } = invocation;
  const [first = '', ...args] = words;
  if (words.length === 0) return;
  if (depth > maxPrefixes) {
    piece.add('cannot-tell.too-complex', at);
    return;
  }
  if (first === '') {
    // What is empty here may be nothing there.
    runCommand(piece, { ...invocation, words: args }, depth + 1);
    return;
  }
  if (first.includes(hole)) {
    piece.add('process.computed', at);
    touchArguments(piece, args, at);
    return;
  }
  const name = nameOf(first);
  if (/[?*[]/.test(name) && name !== '[' && name !== '[[') {
    piece.add('name.hidden', at);
    return;
  }
  if (!isKnownPlace(first)) piece.add('cannot-tell.unknown-command', at);
  touchArguments(piece, name === 'echo' || name === 'printf' ? [] : args, at);
  if (elevators.has(name)) piece.add('process.privilege', at);
  const again = (next: readonly string[]) => runCommand(piece, { ...invocation, words: next }, depth + 1);
  for (const command of commandsIn(name, args)) {
    piece.add('process.start', at);
    again(['sh', '-c', command]);
  }
  const prefix = prefixes.get(name);
  if (prefix) {
    runPrefixed(piece, name, { ...invocation, rest: withoutOptions(args, prefix), depth, again });
    return;
  }
  if (name === 'su' || name === 'runuser' || name === 'script' || name === 'flock') {
    const code = args[args.findIndex((arg) => arg === '-c') + 1];
    if (args.includes('-c') && code !== undefined) again(['sh', '-c', code]);
    else if (name === 'flock') again(args.slice(1));
    return;
  }
  if (isInterpreter(name)) runInterpreter(piece, name, invocation);
  else runKnown(piece, name, invocation, again);
}

function nameOf(word: string): string {
  const last = word.slice(word.lastIndexOf('/') + 1);
  return last.toLowerCase() === last ? last : last.toLowerCase() === 'rscript' ? 'Rscript' : last;
}

/** What a path says by itself, whatever the program does with it. */
function touchArguments(piece: Piece, args: readonly string[], at: Spot): void {
  for (const arg of args) {
    if (!/[/~@=.]/.test(arg)) continue;
    const path = arg.replace(/^.*?[=@]/, '').replace(/^-[A-Za-z](?=[/~])/, '');
    for (const candidate of path === arg ? [arg] : [arg, path]) {
      const place = placeOf(below(piece.folder, candidate));
      if (place === 'host') piece.add('files.host', at);
      else if (place === 'credential') {
        piece.fact('credential');
        piece.add('files.read-credential', at);
      }
    }
    if (arg.includes('169.254.169.254') || arg.includes('metadata.google.internal'))
      piece.add('network.metadata', at);
  }
}

function withoutOptions(
  args: readonly string[],
  { valued, skip }: { valued: string; skip: number },
): readonly string[] {
  let at = 0;
  for (; at < args.length; at += 1) {
    const arg = args[at] ?? '';
    if (arg === '--') {
      at += 1;
      break;
    }
    if (/^[A-Za-z_]\w*=/.test(arg)) continue;
    if (!arg.startsWith('-') || arg === '-') break;
    if (arg.length === 2 && valued.includes(arg.charAt(1))) at += 1;
  }
  return args.slice(at + skip);
}

interface Prefixed extends Invocation {
  /** What is run. */
  readonly rest: readonly string[];
  readonly depth: number;
  readonly again: (words: readonly string[]) => void;
}

function runPrefixed(piece: Piece, name: string, { words, at, stdin, rest, depth, again }: Prefixed): void {
  const own = words.slice(1, words.length - rest.length);
  if (name === 'env') {
    for (const word of own) if (/^[A-Za-z_]\w*=/.test(word)) assessSetting(piece, word, at);
    assessTakenAway(piece, own, at);
    const split = splitString(own, rest);
    if (split !== undefined) {
      again(['sh', '-c', split]);
      return;
    }
    if (rest.length === 0) piece.add('system.information', at);
    const folder = folderOf(own);
    if (folder !== undefined && rest.length > 0) {
      runCommand(atFolder(piece, folder), { words: rest, at, ...(stdin && { stdin }) });
      return;
    }
  }
  if (name === 'exec' && own.some((word) => /^-\w*c/.test(word))) piece.add('name.environment', at);
  if (name === 'xargs' || name === 'parallel') {
    const fed = fedCommands(name, own, { rest, stdin });
    for (const next of fed.commands)
      runCommand(piece, { words: next, at, ...(fed.stdin && { stdin: fed.stdin }) }, depth + 1);
    return;
  }
  if (name === 'watch') again(['sh', '-c', rest.join(' ')]);
  else if (rest.length > 0) again(rest);
}

/** `env -C FOLDER`. */
function folderOf(own: readonly string[]): string | undefined {
  for (const [index, word] of own.entries()) {
    const [, glued] = /^(?:-[0iv]*C|--c[a-z]*(?:=|$))([^]*)$/.exec(word) ?? [];
    if (glued !== undefined) return glued === '' ? (own[index + 1] ?? hole) : glued;
  }
  return undefined;
}

/** `env -i` hands on no variable at all, `env -u NAME` not that one; long options may be cut short. */
function assessTakenAway(piece: Piece, own: readonly string[], at: Spot): void {
  for (const [index, word] of own.entries()) {
    if (/^(-[0v]*i|--i)/.test(word)) piece.add('name.environment', at);
    const [, glued] = /^(?:-[0iv]*u|--u[a-z]*(?:=|$))([^]*)$/.exec(word) ?? [];
    if (glued !== undefined) assessUnsetting(piece, glued || (own[index + 1] ?? ''), at);
  }
}

/** `env -S 'sh -c …'` takes a text apart as a shell would; what follows is added to it. */
function splitString(own: readonly string[], rest: readonly string[]): string | undefined {
  for (const [index, word] of own.entries()) {
    const glued = /^(?:-[0iv]*S|--s[a-z-]*=)([^]*)$/.exec(word)?.[1];
    if (glued === undefined && !/^--s[a-z-]*$/.test(word)) continue;
    const text = glued === undefined || glued === '' ? (own[index + 1] ?? hole) : glued;
    return [text, ...rest].join(' ');
  }
  return undefined;
}

function runKnown(
  piece: Piece,
  name: string,
  invocation: Invocation,
  again: (words: readonly string[]) => void,
): void {
  const { words, at, stdin } = invocation;
  const args = words.slice(1);
  const paths = args.filter((arg) => !arg.startsWith('-'));
  const special = specialCommands[name];
  if (special) {
    special(piece, { args, paths, at, stdin, again });
    return;
  }
  if (installers.has(name)) {
    const verbs = [
      'install',
      'add',
      'i',
      'ci',
      'update',
      'upgrade',
      'sync',
      'run',
      'exec',
      '-S',
      '-i',
      '-U',
      'download',
      'test',
      'start',
    ];
    piece.add(
      paths.length === 0 || args.some((arg) => verbs.includes(arg))
        ? 'network.install'
        : 'system.information',
      at,
    );
    if (args.some((arg) => verbs.includes(arg))) piece.fact('network');
    return;
  }
  if (name.startsWith('mkfs.')) {
    piece.add('files.destroy', at);
    return;
  }
  const effect = effects.get(name);
  if (effect === undefined) piece.add('cannot-tell.unknown-command', at);
  else applyEffect(piece, effect, { name, args, paths, at });
}

interface Applied {
  readonly name: string;
  readonly args: readonly string[];
  readonly paths: readonly string[];
  readonly at: Spot;
}

function applyEffect(piece: Piece, effect: Effect, { name, args, paths, at }: Applied): void {
  switch (effect) {
    case 'nothing':
      return;
    case 'reads':
      // The first word of these is a pattern or a program, not a file.
      readPaths(piece, patterned.has(name) ? paths.slice(1) : paths, at);
      return;
    case 'writes':
      if (args.length === 0) return;
      for (const path of paths) touchPath(piece, 'write', path.includes('/') ? path : `./${path}`, at);
      piece.add('files.write', at);
      return;
    case 'moves':
      readPaths(piece, paths.slice(0, -1), at);
      touchPath(piece, 'write', paths.at(-1) ?? hole, at);
      return;
    case 'information':
      piece.add('system.information', at);
      return;
    case 'network':
      piece.fact('network');
      piece.add('network.use', at);
      return;
    case 'backdoor': {
      piece.fact('network');
      piece.fact('socket');
      const hands = args.some(
        (arg) => /^-\w*[ec]$/.test(arg) || /^(exec|system):/i.test(arg) || shells.has(nameOf(arg)),
      );
      piece.add(hands ? 'network.shell' : 'network.backdoor', at);
      return;
    }
    case 'change':
      piece.add('system.change', at);
      return;
    case 'escape':
      piece.add('system.escape', at);
      return;
    case 'destroys':
      piece.add('files.destroy', at);
      return;
    case 'starts':
      piece.add('process.start', at);
      return;
    case 'signals':
      piece.add('process.signal', at);
      return;
    case 'foreign-code':
      piece.add('cannot-tell.language', at);
      return;
  }
}

const patterned = new Set(['grep', 'egrep', 'fgrep', 'rg', 'ag', 'zgrep', 'jq', 'yq', 'look']);
