import { runCommand } from '../commands/run-command.js';
import { touchPath, type Touch } from '../commands/touch-path.js';
import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { SyntaxNode } from '../syntax/node.js';
import { remembered } from '../values/remembered.js';
import { unknown, type Reference, type Table, type Value } from '../values/value.js';
import { packageOf } from './canonical.js';
import type { Evaluator } from './evaluate.js';
import { textValue } from './fold-calls.js';
import {
  capabilities,
  hiddenModules,
  knownModules,
  knownTops,
  tellingMethods,
  type Capability,
} from './known-names.js';

/**
 * What a dotted name can do: that of its longest beginning that is known. What a call gave back was told at the call;
 * only with connections goes on what began there.
 */
const capabilityAt = remembered((path): Capability | undefined => {
  const exact = capabilities.get(path);
  if (exact) return exact;
  const parts = path.replaceAll('[?]', '').split('.');
  const isKnown = knownTops.has((parts[0] ?? '').replaceAll('()', ''));
  for (let size = isKnown ? parts.length : 0; size > 0; size -= 1) {
    const known = capabilities.get(parts.slice(0, size).join('.').replaceAll('()', ''));
    if (!known) continue;
    const isResult = size < parts.length && parts[size - 1]?.endsWith('()') === true;
    if (!isResult || lasting.has(known)) return known;
    break;
  }
  const [module = ''] = parts;
  // A file of a package, such as @aws-sdk/client-s3.
  const packaged = module.includes('/') ? capabilities.get(packageOf(module)) : undefined;
  return packaged ?? (parts.length > 1 ? tellingMethods.get(parts.at(-1) ?? '') : undefined);
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

const innocent: ReadonlySet<Capability | undefined> = new Set<Capability | undefined>([
  undefined,
  'safe',
  'information',
  'read',
  'timer',
]);

export function assessModule(piece: Piece, module: string, node: SyntaxNode): void {
  const name = packageOf(module);
  if (knownModules.has(name) || capabilities.has(name)) return;
  piece.add('cannot-tell.unknown-module', node);
}

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
    if (value.path === '?[?]') piece.fact('computed-member');
    if (handedOn && hiddenModules.has(value.path)) {
      piece.fact('hands-on-module');
      piece.add('cannot-tell.module-handed-on', node);
    }
    if (capability === undefined || value.path.endsWith('()') || value.path.startsWith('?')) continue;
    // A module or a global as a whole does nothing yet, but eval and fetch are functions.
    const isFunction =
      value.path.includes('.') ||
      ['eval', 'Function', 'fetch', 'require', 'XMLHttpRequest', 'WebSocket'].includes(value.path);
    if (!isFunction || capability === 'timer') continue;
    if (capability === 'require') {
      if (value.path !== 'require' && value.path !== 'require.main') piece.add('name.computed', node);
      continue;
    }
    use(piece, capability, node, undefined, value);
  }
}

export function assessCall(piece: Piece, evaluator: Evaluator, node: SyntaxNode): void {
  for (const { target, given } of evaluator.called(node)) {
    const capability = capabilityOf(target);
    noteHidden(piece, target, capability, node);
    if (target.path === '?[?]') {
      piece.fact('computed-member');
      piece.add('cannot-tell.computed-member', node);
    } else if (target.path.endsWith('[?]') && !innocent.has(capability)) piece.add('name.computed', node);
    if (capability !== undefined) use(piece, capability, node, given, target);
  }
}

function noteHidden(
  piece: Piece,
  value: Reference,
  capability: Capability | undefined,
  node: SyntaxNode,
): void {
  if (!value.hidden) return;
  if (value.path.startsWith('<module>')) piece.add('name.computed', node);
  else if (!innocent.has(capability) || hiddenModules.has(value.path)) piece.add('name.hidden', node);
}

function use(
  piece: Piece,
  capability: Capability,
  node: SyntaxNode,
  given: readonly Value[] | undefined,
  target: Reference,
): void {
  const values = given ?? [];
  const [first = unknown, second = unknown] = values;
  // What a connection or a stream is asked to do was told when it was made.
  const touch = (how: Touch, path: Value | undefined) => {
    if (path && path.kind !== 'number') touchPath(piece, how, textValue(path), node);
  };
  switch (capability) {
    case 'safe':
      return;
    case 'shell':
      piece.add('process.start', node);
      if (given) runShell(piece, first, node);
      return;
    case 'program':
      if (given && target.path !== 'child_process') runProgram(piece, values, node);
      else if (target.path !== 'child_process') piece.add('process.start', node);
      return;
    case 'script':
      piece.add('process.start', node);
      piece.add('cannot-tell.unseen-script', node);
      return;
    case 'code':
      runCode(piece, given, node);
      return;
    case 'timer':
      if (first.kind === 'text') smuggle(piece, given, node);
      return;
    case 'worker':
      if (optionOf(values, 'eval')) smuggle(piece, given, node);
      else piece.add('cannot-tell.unseen-script', node);
      return;
    case 'require':
      requireModule(piece, given, first, target, node);
      return;
    case 'read':
      // Handed on, it reads whatever it is called with.
      if (given || !target.path.includes('()')) touch('read', given ? values[0] : unknown);
      return;
    case 'write':
      touch('write', first);
      return;
    case 'move':
      touch('read', values[0]);
      touch('write', second);
      return;
    case 'delete':
    case 'delete-maybe-tree': {
      const whole =
        capability !== 'delete' &&
        (optionOf(values, 'recursive') || !target.path.startsWith('fs.') || hasUnknownOptions(second));
      touch(whole ? 'delete-tree' : 'delete', first);
      return;
    }
    case 'permissions':
      if (second.kind === 'number' && (second.number & 0o6000) !== 0) piece.add('files.set-user-id', node);
      piece.add('files.permissions', node);
      return;
    case 'network':
    case 'socket':
      piece.fact('network');
      if (capability === 'socket') piece.fact('socket');
      piece.add('network.use', node);
      noteAddress(piece, values, node);
      return;
    case 'native':
      piece.add('code.native', node);
      return;
    case 'introspection':
      piece.add('code.introspection', node);
      return;
    case 'signal':
      piece.add('process.signal', node);
      return;
    case 'privilege':
      piece.add('process.privilege', node);
      return;
    case 'information':
      piece.add('system.information', node);
  }
}

function tables(values: readonly Value[]): readonly Table[] {
  return values.filter((value) => value.kind === 'table');
}

function optionOf(values: readonly Value[], name: string): boolean {
  return tables(values).some(({ entries }) => entries.has(name));
}

function hasUnknownOptions(value: Value): boolean {
  return value.kind === 'reference' && !value.path.startsWith('<function>');
}

function noteAddress(piece: Piece, values: readonly Value[], node: SyntaxNode): void {
  const given = tables(values).flatMap(({ entries }) => [...entries.values()].flat());
  for (const text of [...values, ...given].map(textValue)) {
    if (text.includes('169.254.169.254') || text.includes('metadata.google'))
      piece.add('network.metadata', node);
    if (/(docker|containerd|podman|crio)\.sock/.test(text)) piece.add('files.host', node);
  }
}

function runShell(piece: Piece, command: Value, node: SyntaxNode): void {
  runCommand(piece, { words: ['sh', '-c', textValue(command)], at: node });
  if (textValue(command).includes(hole)) piece.add('process.computed', node);
}

function runProgram(piece: Piece, values: readonly Value[], node: SyntaxNode): void {
  piece.add('process.start', node);
  const [program = unknown, list] = values;
  const args =
    list?.kind === 'list'
      ? list.items.map(textValue)
      : list === undefined || list.kind === 'table'
        ? []
        : [hole];
  const words = [textValue(program), ...args];
  if (optionOf(values, 'shell')) runCommand(piece, { words: ['sh', '-c', words.join(' ')], at: node });
  else runCommand(piece, { words, at: node });
}

/** The last argument of Function is its body; that of eval its only one. */
function runCode(piece: Piece, given: readonly Value[] | undefined, node: SyntaxNode): void {
  const code = given?.at(-1) ?? unknown;
  if (code.kind === 'text' && !code.text.includes(hole)) {
    piece.add(code.decoded || code.assembled ? 'code.decoded' : 'code.constant', node);
    piece.runs('javascript', code.text, node);
  } else piece.add(comesFromNetwork(code) ? 'code.downloaded' : 'code.computed', node);
}

function smuggle(piece: Piece, given: readonly Value[] | undefined, node: SyntaxNode): void {
  piece.add('code.smuggled', node);
  runCode(piece, given?.slice(0, 1), node);
}

function comesFromNetwork(value: Value, depth = 0): boolean {
  if (value.kind !== 'reference' || depth > 8) return false;
  const capability = capabilityOf(value);
  return (
    capability === 'network' ||
    capability === 'socket' ||
    (value.subject !== undefined && comesFromNetwork(value.subject, depth + 1))
  );
}

function requireModule(
  piece: Piece,
  given: readonly Value[] | undefined,
  first: Value,
  target: Reference,
  node: SyntaxNode,
): void {
  if (!given || first.kind !== 'text' || first.text.includes(hole)) {
    piece.add('name.computed', node);
    return;
  }
  const name = packageOf(first.text);
  const hides = first.assembled || first.decoded || target.hidden || target.path.startsWith('module.');
  if (hides && (hiddenModules.has(name) || !innocent.has(capabilities.get(name))))
    piece.add('name.hidden', node);
  else if (target.path === 'import' && knownModules.has(name)) piece.add('name.dynamic-import', node);
  else assessModule(piece, first.text, node);
}
