import { runCommand } from '../commands/run-command.js';
import { touchPath, type Touch } from '../commands/touch-path.js';
import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import { childOf, type SyntaxNode } from '../syntax/node.js';
import { remembered } from '../values/remembered.js';
import { reference, unknown, type Reference, type Value } from '../values/value.js';
import type { Arguments } from './arguments.js';
import { configures } from './configures.js';
import type { Evaluator } from './evaluate.js';
import {
  capabilities,
  hiddenModules,
  knownModules,
  knownTops,
  tellingMethods,
  type Capability,
} from './known-names.js';
import { textValue } from './operators.js';
import { changingMethods, pathMethods } from './path-methods.js';

/**
 * What a dotted name can do: that of its longest beginning that is known. What a call gave back was told at the call;
 * only with connections goes on what began there.
 */
const capabilityAt = remembered((path): Capability | undefined => {
  const parts = path.replaceAll('[]', '').split('.');
  // Not a name out of it, but all that the module has.
  if (parts.includes('__dict__') && hiddenModules.has(parts[0] ?? '')) return 'introspection';
  const isKnown = knownTops.has((parts[0] ?? '').replaceAll('()', ''));
  for (let size = isKnown ? parts.length : 0; size > 0; size -= 1) {
    const known = capabilities.get(parts.slice(0, size).join('.').replaceAll('()', ''));
    if (!known) continue;
    // Of a module that is harmless as a whole, what its objects do is told by their methods.
    if (known === 'safe' && size < parts.length) return tellingMethods.get(parts.at(-1) ?? '') ?? known;
    const isResult = size < parts.length && parts[size - 1]?.endsWith('()') === true;
    if (!isResult || lasting.has(known)) return known;
    break;
  }
  return parts.length > 1 ? tellingMethods.get(parts.at(-1) ?? '') : undefined;
});

export function capabilityOf({ path }: Reference): Capability | undefined {
  return capabilityAt(path);
}

const lasting: ReadonlySet<Capability> = new Set<Capability>([
  'network',
  'socket',
  'native',
  'introspection',
]);

/** Not worth hiding. */
const innocent: ReadonlySet<Capability | undefined> = new Set<Capability | undefined>([
  undefined,
  'safe',
  'information',
  'read',
  'attribute',
]);

/** A function or module that is handed on: what it will be called with is not known. */
export function assessReference(
  piece: Piece,
  evaluator: Evaluator,
  node: SyntaxNode,
  handedOn: boolean,
): void {
  for (const value of evaluator.evaluate(node)) {
    if (value.kind !== 'reference') continue;
    const capability = capabilityOf(value);
    noteHidden(piece, value, capability, node);
    if (handedOn && hiddenModules.has(value.path)) {
      piece.fact('hands-on-module');
      piece.add('cannot-tell.module-handed-on', node);
    }
    // A module as a whole does nothing yet, and what came of a call was told at the call.
    if (
      capability === undefined ||
      value.path.endsWith('()') ||
      (!value.path.includes('.') && !value.path.startsWith('?'))
    )
      continue;
    if (value.path.startsWith('?.')) continue;
    // Whoever gets it opens what it likes.
    if (handedOn && capability === 'open') touchPath(piece, 'write', hole, node);
    use(piece, capability, node, undefined, value);
  }
}

export function assessCall(piece: Piece, evaluator: Evaluator, node: SyntaxNode): void {
  const ways = evaluator.argumentsOf(node);
  for (const target of evaluator.evaluate(childOf(node, 'function'))) {
    if (target.kind !== 'reference') continue;
    const capability = capabilityOf(target);
    noteHidden(piece, target, capability, node);
    if (isComputed(target)) piece.add('cannot-tell.computed-member', node);
    for (const given of ways) {
      const method = boundMethod(target, given);
      const can = method === target ? capability : capabilityOf(method);
      if (can !== undefined) use(piece, can, node, given, method);
      callMethod(piece, evaluator, method, can, given, node);
    }
  }
}

/** Path.read_text(path) is path.read_text(). */
function boundMethod(target: Reference, { positional: [first] }: Arguments): Reference {
  if (!target.path.startsWith('pathlib.')) return target;
  const [, method] = /^pathlib\.\w*Path\.(\w+)$/.exec(target.path) ?? [];
  return method === undefined || !first ? target : reference(`?.${method}`, target.hidden, first);
}

/** What a method does by its name alone: that of a path, or one that is called through another. */
function callMethod(
  piece: Piece,
  evaluator: Evaluator,
  target: Reference,
  capability: Capability | undefined,
  given: Arguments,
  node: SyntaxNode,
): void {
  const { path, subject } = target;
  if (path === 'operator.methodcaller()') callNamed(piece, evaluator, target, given, node);
  if (path.startsWith('?.') && subject?.kind === 'text') {
    const touch = pathMethods.get(path.slice(2));
    if (touch) touchPath(piece, touch, subject.text, node);
    if (path === '?.open') openFile(piece, [subject, ...given.positional], given, node);
  } else if (capability === undefined) {
    const method = path.slice(path.lastIndexOf('.') + 1);
    const touch = changingMethods.get(method);
    // Of a path that is not known, unless the program has a function of that name.
    if (touch && !evaluator.defines(method)) touchPath(piece, touch, hole, node);
  }
}

/** By a name that is not known, of an object that is not known either. */
function isComputed({ path, subject }: Reference): boolean {
  return path === '?[?]' || (path === '<names>.?' && subject?.kind === 'unknown');
}

/** methodcaller("system", …)(os) is os.system(…). */
function callNamed(
  piece: Piece,
  evaluator: Evaluator,
  { subject }: Reference,
  given: Arguments,
  node: SyntaxNode,
): void {
  const [object = unknown] = given.positional;
  const isNamed = subject?.kind === 'text' && !subject.text.includes(hole);
  const method = isNamed
    ? evaluator.member(object, subject.text, true)
    : reference('<names>.?', true, object);
  if (method.kind !== 'reference') return;
  noteHidden(piece, method, capabilityOf(method), node);
  if (isComputed(method)) piece.add('cannot-tell.computed-member', node);
}

function noteHidden(
  piece: Piece,
  value: Reference,
  capability: Capability | undefined,
  node: SyntaxNode,
): void {
  if (!value.hidden) return;
  const [top = ''] = value.path.replaceAll('()', '').split('.');
  if (value.path === '<names>.?') {
    const { subject } = value;
    if (isComputed(value)) piece.fact('computed-member');
    if (
      subject &&
      !(
        subject.kind === 'reference' &&
        (hiddenModules.has(subject.path.split('.')[0] ?? '') || subject.path === '<names>')
      )
    )
      return;
    piece.add('name.computed', node);
  } else if (!innocent.has(capability) || (hiddenModules.has(value.path) && value.path !== 'builtins'))
    piece.add('name.hidden', node);
  else if (value.path === 'sys.modules') piece.add('name.computed', node);
  else if (!value.path.includes('.') && knownModules.has(top)) piece.add('name.dynamic-import', node);
}

function use(
  piece: Piece,
  capability: Capability,
  node: SyntaxNode,
  given: Arguments | undefined,
  target: Reference,
): void {
  const values = given?.positional ?? [];
  const [first = unknown, second = unknown] = values;
  const touch = (how: Touch, path: Value | undefined) => {
    if (path) touchPath(piece, how, textValue(path), node);
  };
  switch (capability) {
    case 'safe':
      return;
    case 'attribute':
      // reduce(getattr, names, os): whoever it is handed to decides what it finds.
      if (!given) piece.add('name.computed', node);
      return;
    case 'shell': {
      const at = target.path.startsWith('pydoc.') ? 1 : 0;
      runShell(piece, given?.positional[at] ?? given?.named.get('cmd'), node);
      return;
    }
    case 'program':
      runProgram(piece, given, node);
      return;
    case 'program-words':
    case 'spawn-words':
      runWords(piece, capability === 'spawn-words' ? values.slice(1) : values, given !== undefined, node);
      return;
    case 'code':
      runCode(piece, given, node, target);
      return;
    case 'import':
      importModule(piece, given, first, node);
      return;
    case 'open':
      openFile(piece, values, given, node);
      return;
    case 'read':
      // Handed on, it reads whatever it is called with.
      if (given || !target.path.includes('()')) touch('read', given ? values[0] : unknown);
      return;
    case 'write':
      if (target.path === 'sqlite3.connect' && first.kind === 'text' && first.text === ':memory:') return;
      if (target.path.endsWith('.to_csv') && values.length === 0 && !given?.named.has('path_or_buf')) return;
      if (target.path === 'logging.basicConfig' && !given?.named.has('filename')) return;
      if (target.path.startsWith('tempfile.')) piece.add('files.write', node);
      else if (values.length > 0 || given?.named.has('path'))
        touch('write', values[0] ?? given?.named.get('path'));
      else piece.add('files.write', node);
      return;
    case 'write-second':
      touch('read', values[0]);
      touch('write', second);
      return;
    case 'move':
      touch('write', values[0]);
      touch('write', second);
      return;
    case 'delete':
    case 'delete-tree':
      touch(capability, values[0] ?? given?.named.get('path') ?? unknown);
      return;
    case 'permissions':
      if (second.kind === 'number' && (second.number & 0o6000) !== 0) piece.add('files.set-user-id', node);
      piece.add('files.permissions', node);
      if (first.kind === 'text' && !first.text.includes(hole)) touchPath(piece, 'write', first.text, node);
      return;
    case 'network':
    case 'socket':
      piece.fact('network');
      if (capability === 'socket') piece.fact('socket');
      piece.add('network.use', node);
      noteAddress(piece, [...values, target.subject ?? unknown], node);
      return;
    case 'deserialize':
      if (!(
        target.path === 'yaml.load' &&
        given &&
        [...given.named.values(), ...given.positional].some(
          (value) => value.kind === 'reference' && /Safe|Base/.test(value.path),
        )
      )) {
        piece.add('code.deserialized', node);
      }
      return;
    case 'native':
      piece.add('code.native', node);
      return;
    case 'introspection':
      piece.add('code.introspection', node);
      return;
    case 'fork':
      piece.add('process.start', node);
      return;
    case 'signal':
      piece.add('process.signal', node);
      return;
    case 'privilege':
      piece.add('process.privilege', node);
      return;
    case 'streams':
      piece.fact('redirects-streams');
      piece.add('system.information', node);
      return;
    case 'terminal':
      piece.fact('shell');
      piece.add('process.start', node);
      runWords(piece, first.kind === 'list' ? first.items : [first], given !== undefined, node);
      return;
    case 'information':
      piece.add('system.information', node);
  }
}

function noteAddress(piece: Piece, values: readonly Value[], node: SyntaxNode): void {
  for (const value of values) {
    for (const text of value.kind === 'list' ? value.items.map(textValue) : [textValue(value)]) {
      if (text.includes('169.254.169.254') || text.includes('metadata.google'))
        piece.add('network.metadata', node);
      if (/(docker|containerd|podman|crio)\.sock/.test(text)) piece.add('files.host', node);
    }
  }
}

function runShell(piece: Piece, command: Value | undefined, node: SyntaxNode): void {
  piece.add('process.start', node);
  if (!command) return;
  runCommand(piece, { words: ['sh', '-c', textValue(command)], at: node });
  if (textValue(command).includes(hole)) piece.add('process.computed', node);
}

function runProgram(piece: Piece, given: Arguments | undefined, node: SyntaxNode): void {
  piece.add('process.start', node);
  if (!given) return;
  const shell = given.named.get('shell');
  const isShell = shell !== undefined && !(shell.kind === 'number' && shell.number === 0);
  const isPlain = !isShell || shell.kind !== 'number';
  const command = given.positional[0] ?? given.named.get('args') ?? unknown;
  const words = command.kind === 'list' ? command.items : [command];
  if (isShell) runShell(piece, words[0], node);
  if (isPlain) runWords(piece, words, true, node);
}

function runWords(piece: Piece, values: readonly Value[], called: boolean, node: SyntaxNode): void {
  piece.add('process.start', node);
  if (!called) return;
  // os.execv("/bin/sh", ["sh", "-c", …]) names the program twice.
  const [first = unknown, second] = values;
  const words =
    second?.kind === 'list'
      ? [textValue(first), ...second.items.slice(1).map(textValue)]
      : values.map(textValue);
  runCommand(piece, { words, at: node });
}

function runCode(piece: Piece, given: Arguments | undefined, node: SyntaxNode, target: Reference): void {
  if (target.path === 'logging.config.dictConfig' && given) {
    if (!configures(piece, given.positional[0] ?? given.named.get('config') ?? unknown, node))
      piece.add('code.computed', node);
    return;
  }
  if (/^(types|typing|code|runpy|doctest|logging)\./.test(target.path) || !given) {
    piece.add('code.computed', node);
    return;
  }
  const [code = unknown] = given.positional;
  if (code.kind === 'text' && !code.text.includes(hole)) {
    piece.add(code.decoded || code.assembled ? 'code.decoded' : 'code.constant', node);
    piece.runs('python', code.text, node);
  } else if (code.kind === 'reference' && code.path.startsWith('builtins.compile')) return;
  else piece.add(comesFromNetwork(code) ? 'code.downloaded' : 'code.computed', node);
}

function comesFromNetwork(value: Value, depth = 0): boolean {
  if (value.kind !== 'reference' || depth > 8) return false;
  const capability = capabilityOf(value);
  if (capability === 'network' || capability === 'socket') return true;
  return value.subject !== undefined && comesFromNetwork(value.subject, depth + 1);
}

function importModule(piece: Piece, given: Arguments | undefined, first: Value, node: SyntaxNode): void {
  if (!given || first.kind !== 'text' || first.text.includes(hole)) {
    piece.add('name.computed', node);
    return;
  }
  const [top = ''] = first.text.split(/[.:]/);
  if (hiddenModules.has(top)) piece.add('name.hidden', node);
  else piece.add(knownModules.has(top) ? 'name.dynamic-import' : 'cannot-tell.unknown-module', node);
}

function openFile(
  piece: Piece,
  values: readonly Value[],
  given: Arguments | undefined,
  node: SyntaxNode,
): void {
  if (!given) return;
  const [path = given.named.get('file') ?? unknown, positionalMode] = values;
  const mode = positionalMode ?? given.named.get('mode');
  const modeText = mode === undefined ? 'r' : mode.kind === 'text' ? mode.text : 'w';
  if (path.kind === 'number') return;
  touchPath(piece, /[wax+]/.test(modeText) ? 'write' : 'read', textValue(path), node);
}
