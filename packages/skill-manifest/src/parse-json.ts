import { findNodeAtLocation, parseTree, printParseErrorCode, type Node, type ParseError } from 'jsonc-parser';
import { pathOf, pointerOf, shown, type SkillProblem } from './problem.js';

/** Whether a problem is about the key or about what stands under it. */
export type Place = 'key' | 'value';

/** JSON that remembers where each value stood. */
export interface LocatedJson {
  readonly value: unknown;
  locate(pointer: string, place?: Place): { readonly line: number; readonly column: number };
}

export type ParsedJson =
  | { readonly json: LocatedJson; readonly problems: readonly [] }
  | { readonly json?: undefined; readonly problems: readonly SkillProblem[] };

const deepest = 64;
const mostProblems = 20;
const prototypeKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** JSON to the letter: neither comments nor trailing commas, no key twice, none that reaches a prototype. */
export function parseJson(bytes: Buffer, file: string): ParsedJson {
  const problemAt = (text: string, offset: number, message: string, pointer = ''): SkillProblem => ({
    file,
    pointer,
    ...positionOf(text, offset),
    message,
  });
  const text = decode(bytes);
  if (text === undefined) {
    return { problems: [problemAt('', 0, 'is not UTF-8; save it with that encoding')] };
  }
  if (text.startsWith('\ufeff')) {
    return { problems: [problemAt('', 0, 'begins with a byte order mark; save it as UTF-8 without one')] };
  }
  const { tooDeepAt, colons } = scan(text);
  if (tooDeepAt !== undefined) {
    return { problems: [problemAt(text, tooDeepAt, `is nested more than ${deepest} levels deep`)] };
  }
  const plain = parsePlain(text, colons);
  if (plain) return { json: { value: plain.value, locate: locatorOf(text) }, problems: [] };

  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, strictly);
  if (errors.length > 0 || !tree) {
    const [error] = errors;
    const what = error ? wordsOf(error) : 'is empty';
    return { problems: [problemAt(text, error?.offset ?? 0, `is not JSON: ${what}`)] };
  }
  const keys = [...keyProblems(tree)].slice(0, mostProblems);
  if (keys.length === 0) return { problems: [problemAt(text, 0, 'is not JSON')] };
  return { problems: keys.map((key) => problemAt(text, key.offset, key.message, key.pointer)) };
}

const strictly = { disallowComments: true, allowTrailingComma: false } as const;

/** The quick road: undefined when anything is wrong, which the slow one then tells. */
function parsePlain(text: string, colons: number): { readonly value: unknown } | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    // A key that is there twice makes one property of two colons.
    return countKeys(value) === colons ? { value } : undefined;
  } catch {
    return undefined;
  }
}

/** NaN when one of them reaches a prototype. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const isList = Array.isArray(value);
  let count = 0;
  for (const [key, child] of Object.entries(value)) {
    if (!isList && prototypeKeys.has(key)) return Number.NaN;
    count += (isList ? 0 : 1) + countKeys(child);
  }
  return count;
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** How deep it goes, before anything that calls itself for each level. */
function scan(text: string): { readonly tooDeepAt?: number; readonly colons: number } {
  let depth = 0;
  let colons = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (inString) {
      if (char === '\\') at += 1;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === ':') colons += 1;
    else if (char === '}' || char === ']') depth -= 1;
    else if (char === '{' || char === '[') depth += 1;
    if (depth > deepest) return { tooDeepAt: at, colons };
  }
  return { colons };
}

function wordsOf({ error, offset }: ParseError): string {
  const words = printParseErrorCode(error)
    .replaceAll(/([A-Z])/g, ' $1')
    .trim()
    .toLowerCase();
  return `${words} at character ${offset + 1}`;
}

interface KeyProblem {
  readonly offset: number;
  readonly pointer: string;
  readonly message: string;
}

function* keyProblems(
  node: Node,
  path: readonly (string | number)[] = [],
): Generator<KeyProblem, void, undefined> {
  if (node.type === 'array') {
    for (const [index, item] of (node.children ?? []).entries()) yield* keyProblems(item, [...path, index]);
  }
  if (node.type !== 'object') return;
  const seen = new Set<string>();
  for (const { children: [keyNode, valueNode] = [] } of node.children ?? []) {
    if (!keyNode) continue;
    const key = String(keyNode.value);
    const pointer = pointerOf([...path, key]);
    if (seen.has(key))
      yield { offset: keyNode.offset, pointer, message: `the key ${shown(key)} is there twice` };
    if (prototypeKeys.has(key)) {
      yield { offset: keyNode.offset, pointer, message: `${shown(key)} is not allowed as a key` };
    }
    seen.add(key);
    if (valueNode) yield* keyProblems(valueNode, [...path, key]);
  }
}

function locatorOf(text: string): LocatedJson['locate'] {
  let tree: Node | undefined;
  return (pointer, place = 'value') => {
    tree ??= parseTree(text, [], strictly);
    const path = pathOf(pointer);
    // What is not there is shown where it should be.
    for (let length = path.length; length >= 0; length -= 1) {
      const node = tree && nodeAt(tree, path.slice(0, length));
      if (!node) continue;
      const isKey = place === 'key' && length === path.length && node.parent?.type === 'property';
      return positionOf(text, (isKey ? (node.parent.children?.[0] ?? node) : node).offset);
    }
    return positionOf(text, 0);
  };
}

function nodeAt(tree: Node, path: readonly string[]): Node | undefined {
  let node: Node | undefined = tree;
  for (const key of path) {
    if (!node) return undefined;
    node = findNodeAtLocation(node, [node.type === 'array' ? Number(key) : key]);
  }
  return node;
}

function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: offset - lineStart + 1 };
}
