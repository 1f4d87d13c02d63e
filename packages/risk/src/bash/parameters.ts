import { hole } from '../place.js';
import { combinations } from '../values/choices.js';
import { textOf, type SyntaxNode, type SyntaxTree } from '../syntax/node.js';

interface Lookup {
  readonly variable: (name: string) => readonly string[];
  /** Of an array, its items. */
  readonly items: (name: string) => readonly string[];
  readonly expand: (node: SyntaxNode) => readonly string[];
}

/** What `${…}` is: `${x}`, `${x:-y}`, `${x:1:2}`, `${!x}`, `${x/a/b}`, `${x##*\/}` and the like. */
export function expandParameter(
  tree: SyntaxTree,
  node: SyntaxNode,
  { variable, items, expand }: Lookup,
): readonly string[] {
  const inner = node.children.filter((child) => child.type !== '${' && child.type !== '}');
  const isName = (child: SyntaxNode) => /variable_name|subscript/.test(child.type);
  const at = inner.findIndex(isName);
  const name = inner[at];
  if (!name) return [hole];
  const text = textOf(tree, name);
  const bare = text.replace(/\[[^]*\]$/, '');
  const isList = bare === '@' || bare === '*' || /\[["']?[@*]["']?\]$/.test(text);
  const before = inner[at - 1]?.type;
  if (before === '#')
    return isList ? [hole] : items(bare).map((value) => (value.includes(hole) ? hole : String(value.length)));
  const direct = isList ? variable(bare) : items(bare);
  const values =
    before === '!'
      ? direct.flatMap((pointed) => (isList || !/^\w+$/.test(pointed) ? [hole] : items(pointed)))
      : direct;
  const operator = inner[at + 1]?.type;
  const operands = inner.slice(at + 2).filter(({ named }) => named);
  return combinations(operands.map(expand), hole).flatMap((texts) =>
    expanded(values, operator, { texts, isList }),
  );
}

function expanded(
  values: readonly string[],
  operator: string | undefined,
  { texts, isList }: { texts: readonly string[]; isList: boolean },
): readonly string[] {
  switch (operator) {
    case undefined:
    case ':?':
    case '?':
      return values;
    case ':-':
    case '-':
    case ':=':
    case '=':
      return [
        ...values.filter((value) => value !== hole),
        ...(texts.length > 0 ? [texts.join('')] : ['']),
        ...values.filter((value) => value === hole),
      ];
    case ':+':
    case '+':
      return [texts.join(''), ''];
    case ':':
      return values.map((value) => (isList ? hole : sliced(value, texts)));
    case '/':
    case '//':
      return values.map((value) => replaced(value, texts, operator === '//'));
    case '#':
    case '##':
    case '%':
    case '%%':
      return values.map((value) => trimmed(value, operator, texts.join('')));
    case '^^':
    case '^':
      return values.map((value) =>
        operator === '^' ? value.charAt(0).toUpperCase() + value.slice(1) : value.toUpperCase(),
      );
    case ',,':
    case ',':
      return values.map((value) =>
        operator === ',' ? value.charAt(0).toLowerCase() + value.slice(1) : value.toLowerCase(),
      );
    default:
      return [hole];
  }
}

function sliced(value: string, [from = '', length]: readonly string[]): string {
  const start = Number(from);
  if (value.includes(hole) || !Number.isInteger(start)) return hole;
  const rest = value.slice(start);
  if (length === undefined) return rest;
  const count = Number(length);
  if (!Number.isInteger(count)) return hole;
  return count < 0 ? rest.slice(0, count) : rest.slice(0, count);
}

function replaced(value: string, [from = '', to = '']: readonly string[], all: boolean): string {
  if (value.includes(hole) || /[*?[]/.test(from) || from === '') return hole;
  return all ? value.replaceAll(from, () => to) : value.replace(from, () => to);
}

/** A pattern's end is found by trying, shortest or longest first. */
function trimmed(value: string, operator: '#' | '##' | '%' | '%%', pattern: string): string {
  if (value.includes(hole) || pattern.includes(hole) || value.length > 256) return hole;
  if (pattern.split('*').length > 4) return hole;
  const glob = new RegExp(
    `^${pattern
      .replace(/[.+^${}()|\\[\]]/g, '\\$&')
      .replace(/\*/g, '[^]*')
      .replace(/\?/g, '[^]')}$`,
  );
  const lengths = Array.from(value).map((_, index) => index + 1);
  const ordered = operator.length === 1 ? [0, ...lengths] : [...lengths.reverse(), 0];
  const isPrefix = operator.startsWith('#');
  for (const length of ordered) {
    const part = isPrefix ? value.slice(0, length) : value.slice(value.length - length);
    if (glob.test(part)) return isPrefix ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}
