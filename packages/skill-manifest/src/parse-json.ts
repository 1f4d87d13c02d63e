import {
  findNodeAtLocation,
  getLocation,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser';
import { nearest } from './nearest.js';
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

/** A problem of a text, but for the file and for lines. */
interface TextProblem extends Omit<SkillProblem, 'file' | 'pointer' | 'line' | 'column'> {
  readonly offset: number;
  readonly pointer?: string;
}

/** JSON to the letter: neither comments nor trailing commas, no key twice, none that reaches a prototype. */
export function parseJson(bytes: Buffer, file: string): ParsedJson {
  const refused = (text: string, ...problems: readonly TextProblem[]): ParsedJson => ({
    problems: problems.map(({ offset, pointer = '', ...problem }) => ({
      file,
      pointer,
      ...positionOf(text, offset),
      ...problem,
    })),
  });
  const text = decode(bytes);
  if (text === undefined) {
    const message = 'is not UTF-8; save it with that encoding';
    return refused('', { offset: 0, message, found: 'bytes that are no text', expected: 'UTF-8' });
  }
  if (text.startsWith('\ufeff')) {
    const message = 'begins with a byte order mark; save it as UTF-8 without one';
    return refused('', { offset: 0, message, found: 'U+FEFF', expected: 'JSON from the first byte on' });
  }
  const { tooDeepAt, colons } = scan(text);
  if (tooDeepAt !== undefined) {
    const message = `is nested more than ${deepest} levels deep`;
    const found = `level ${deepest + 1}`;
    return refused(text, { offset: tooDeepAt, message, found, expected: `at most ${deepest} levels` });
  }
  const plain = parsePlain(text, colons);
  if (plain) return { json: { value: plain.value, locate: locatorOf(text) }, problems: [] };

  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, strictly);
  const [error] = errors;
  if (error) return refused(text, syntaxProblem(text, error));
  const keys = tree ? [...keyProblems(tree)].slice(0, mostProblems) : [];
  if (keys.length > 0) return refused(text, ...keys);
  return refused(text, { offset: 0, message: 'is not JSON', found: shown(text), expected: 'JSON' });
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

/** What JSON has where these are told, in words. */
const expectedBy: ReadonlyMap<string, string> = new Map([
  ['CloseBraceExpected', 'a comma or "}"'],
  ['CloseBracketExpected', 'a comma or "]"'],
  ['ColonExpected', 'a colon'],
  ['CommaExpected', 'a comma'],
  ['EndOfFileExpected', 'the end of the file'],
  ['InvalidCharacter', 'text without control characters'],
  ['InvalidCommentToken', 'no comments'],
  ['InvalidEscapeCharacter', 'an escape of JSON, such as \\n or \\\\'],
  ['InvalidNumberFormat', 'a number of JSON'],
  ['InvalidUnicode', 'four hexadecimal digits after \\u'],
  ['PropertyNameExpected', 'a key in double quotes'],
  ['UnexpectedEndOfNumber', 'a number of JSON'],
  ['UnexpectedEndOfString', 'a double quote at the end of the text'],
]);

/** In the place that was being read when it became wrong. */
function syntaxProblem(text: string, { error, offset, length }: ParseError): TextProblem {
  const code = printParseErrorCode(error);
  const words = code
    .replaceAll(/([A-Z])/g, ' $1')
    .trim()
    .toLowerCase();
  const written = text.slice(offset, offset + length);
  const suggestion = nearest(written, ['true', 'false', 'null']);
  // A key that is not there yet has no name.
  const path = getLocation(text, offset).path.filter((key) => key !== '');
  return {
    offset,
    pointer: pointerOf(path),
    message: `is not JSON: ${words} at character ${offset + 1}`,
    found: written === '' ? 'the end of the file' : shown(written),
    expected: expectedBy.get(code) ?? 'a value',
    ...(suggestion === undefined || suggestion === written ? {} : { suggestion }),
  };
}

function* keyProblems(
  node: Node,
  path: readonly (string | number)[] = [],
): Generator<TextProblem, void, undefined> {
  if (node.type === 'array') {
    for (const [index, item] of (node.children ?? []).entries()) yield* keyProblems(item, [...path, index]);
  }
  if (node.type !== 'object') return;
  const seen = new Set<string>();
  for (const { children: [keyNode, valueNode] = [] } of node.children ?? []) {
    if (!keyNode) continue;
    const key = String(keyNode.value);
    const pointer = pointerOf([...path, key]);
    const here = { offset: keyNode.offset, pointer, found: shown(key) };
    if (seen.has(key)) {
      yield { ...here, message: `the key ${shown(key)} is there twice`, expected: 'each key once' };
    }
    if (prototypeKeys.has(key)) {
      yield { ...here, message: `${shown(key)} is not allowed as a key`, expected: 'another key' };
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
