import { hole } from '../place.js';
import { listOf, tableOf } from '../values/collect.js';
import { decoders, type DecoderName } from '../values/decode.js';
import {
  derived,
  literal,
  maxItems,
  maxText,
  reference,
  unknown,
  type List,
  type Reference,
  type Value,
} from '../values/value.js';
import { canonical } from './canonical.js';

interface Lookup {
  member(object: Value, name: string, hidden: boolean): readonly Value[];
  /** Counts work done. */
  spend(): boolean;
}

const encodings: Readonly<Record<string, DecoderName>> = {
  base64: 'base64',
  base64url: 'base64',
  hex: 'hex',
};

/** A value as it appears inside a text. */
export function textValue(value: Value): string {
  if (value.kind === 'text') return value.text;
  if (value.kind === 'list') return listText(value, { items: maxItems });
  return value.kind === 'number' ? String(value.number) : hole;
}

/** Lists in lists may be the same many times: only so many items are read, whatever holds them. */
function listText({ items }: List, left: { items: number }): string {
  const texts = items.map((item) => {
    left.items -= 1;
    if (left.items < 0) return hole;
    return item.kind === 'list' ? listText(item, left) : textValue(item);
  });
  return texts.join(',');
}

/** What has a name that is known only at run time; of what is not known either where there are two marks. */
export function computedMember(object: Value): Value {
  if (object.kind === 'reference') return reference(`${object.path}[?]`, object.hidden, object.subject);
  return object.kind === 'unknown' ? reference('?[?]') : unknown;
}

/** What a call gives back, where its function is known and does no harm in giving it. */
export function foldCall(target: Reference, values: readonly Value[], lookup: Lookup): readonly Value[] {
  const [first = unknown, second = unknown] = values;
  if (target.path === 'Reflect.get' && second.kind === 'text' && !second.text.includes(hole))
    return lookup.member(first, second.text, true);
  // The first gets what the others have, and stays what it is.
  if (target.path === 'Object.assign')
    return [...values.slice(0, 1), tableOf(new Map(), values, () => lookup.spend())];
  return [folded(target, values)];
}

function folded(target: Reference, values: readonly Value[]): Value {
  const [first = unknown, second = unknown] = values;
  switch (target.path) {
    case 'require':
    case 'import':
    case 'module._load':
    case 'module.require':
    case 'module.createRequire()':
      return first.kind === 'text' && !first.text.includes(hole)
        ? reference(
            canonical(first.text),
            target.hidden || target.path.startsWith('module.') || first.assembled || first.decoded,
          )
        : reference('<module>', true);
    // The grammar reads `await (x)` outside of functions as a call.
    case 'await':
    case 'util.promisify':
    case 'Promise.resolve':
    case 'Object.freeze':
    case 'Object.seal':
    case 'Object.create':
    case 'Object.setPrototypeOf':
    case 'Object.getPrototypeOf':
    case 'structuredClone':
      return first;
    case 'Reflect.get':
      return computedMember(first);
    case 'String.fromCharCode':
    case 'String.fromCodePoint':
      return values.every((value) => value.kind === 'number')
        ? derived(values.map((value) => String.fromCharCode(value.number & 0xffff)).join(''), [], 'assembled')
        : derived(hole, [], 'assembled');
    case 'String':
      return derived(textValue(first), [first], 'assembled');
    case 'String.raw':
      return first;
    case 'atob':
      return decoded('base64', first);
    case 'unescape':
    case 'decodeURIComponent':
    case 'decodeURI':
      return decoded('percent', first);
    case 'Buffer.from':
    case 'buffer.Buffer.from': {
      if (first.kind === 'list') return bytesFrom(first.items);
      const encoding = second.kind === 'text' ? encodings[second.text.toLowerCase()] : undefined;
      return encoding ? decoded(encoding, first) : first;
    }
    case 'path.join':
    case 'path.resolve':
      return joinedPath(values);
    case 'os.homedir':
      return literal('~');
    case 'os.tmpdir':
      return literal('/tmp');
    case 'process.cwd':
      return literal('.');
    default:
      return reference(
        /\.bind$/.test(target.path) ? target.path.slice(0, -5) : `${target.path}()`,
        target.hidden,
        first,
      );
  }
}

/** What a method of a text or a list gives back. */
export function foldMethod(name: string, subject: Value, values: readonly Value[]): Value {
  const [first = unknown, second = unknown] = values;
  if (subject.kind === 'list') {
    if (name === 'reverse' || name === 'toReversed')
      return { kind: 'list', items: [...subject.items].reverse() };
    if (name === 'join') {
      const glue = values.length === 0 ? ',' : textValue(first);
      return derived(subject.items.map(textValue).join(glue), subject.items, 'assembled');
    }
    if (name === 'concat') return listOf([...subject.items, ...values]);
    if (name === 'pop' || name === 'at')
      return subject.items.at(first.kind === 'number' ? first.number : -1) ?? unknown;
    if (name === 'shift') return subject.items[0] ?? unknown;
    return reference(`?.${name}()`, false, subject);
  }
  if (subject.kind !== 'text') return reference(`?.${name}()`, false, subject);
  const { text } = subject;
  const number = (value: Value) => (value.kind === 'number' ? value.number : undefined);
  switch (name) {
    case 'split': {
      const parts = first.kind === 'text' ? text.split(first.text) : [text];
      return {
        kind: 'list',
        items: parts.slice(0, maxItems).map((part) => derived(part, [subject], 'assembled')),
      };
    }
    case 'concat':
      return derived(text + values.map(textValue).join(''), [subject], 'assembled');
    case 'replace':
    case 'replaceAll':
      return replaced(subject, first, second, name === 'replaceAll');
    case 'slice':
    case 'substring':
      return text.includes(hole)
        ? unknown
        : derived(text.slice(number(first) ?? 0, number(second)), [subject], 'assembled');
    case 'substr':
      return text.includes(hole)
        ? unknown
        : derived(portion(text, number(first) ?? 0, number(second)), [subject], 'assembled');
    case 'charAt':
    case 'at':
      return derived(text.charAt(number(first) ?? 0), [subject], 'assembled');
    case 'charCodeAt':
    case 'codePointAt':
      return { kind: 'number', number: text.charCodeAt(number(first) ?? 0) };
    case 'toLowerCase':
    case 'toUpperCase':
      return derived(
        name === 'toLowerCase' ? text.toLowerCase() : text.toUpperCase(),
        [subject],
        'assembled',
      );
    case 'trim':
      return derived(text.trim(), [subject], 'assembled');
    case 'repeat': {
      const size = text.length * (number(first) ?? Number.NaN);
      return size >= 0 && size <= maxText
        ? derived(text.repeat(number(first) ?? 0), [subject], 'assembled')
        : unknown;
    }
    case 'toString':
    case 'valueOf':
    case 'normalize':
      return first.kind === 'text' && encodings[first.text] !== undefined
        ? unknown
        : { ...subject, text: decodedIfBytes(subject.decoded, text) };
    default:
      return reference(`?.${name}()`, false, subject);
  }
}

function portion(text: string, start: number, length: number | undefined): string {
  const rest = text.slice(start);
  return length === undefined ? rest : rest.slice(0, Math.max(0, length));
}

function decodedIfBytes(decodedBefore: boolean, text: string): string {
  return decodedBefore ? decoders.utf8(text) : text;
}

function decoded(name: DecoderName, value: Value): Value {
  if (value.kind !== 'text' || value.text.includes(hole)) return unknown;
  const text = decoders[name](value.text);
  return text === undefined ? unknown : derived(text, [value], 'decoded');
}

/** Patterns of plain letters are replaced; others are left alone, and the text is not known. */
function replaced(subject: Value & { kind: 'text' }, from: Value, to: Value, all: boolean): Value {
  const replacement = to.kind === 'text' ? to.text : undefined;
  if (replacement === undefined || subject.text.includes(hole)) return unknown;
  if (from.kind === 'text') {
    const text = all
      ? subject.text.replaceAll(from.text, () => replacement)
      : subject.text.replace(from.text, () => replacement);
    return derived(text, [subject], 'assembled');
  }
  const pattern = from.kind === 'reference' && from.subject?.kind === 'text' ? from.subject.text : '';
  const [, plain = '', flags = ''] = /^\/([\w\s-]+)\/(\w*)$/.exec(pattern) ?? [];
  if (plain === '') return unknown;
  const text = flags.includes('g')
    ? subject.text.replaceAll(plain, () => replacement)
    : subject.text.replace(plain, () => replacement);
  return derived(text, [subject], 'assembled');
}

function bytesFrom(items: readonly Value[]): Value {
  if (!items.every((item) => item.kind === 'number')) return unknown;
  return derived(items.map((item) => String.fromCharCode(item.number & 0xff)).join(''), [], 'decoded');
}

function joinedPath(parts: readonly Value[]): Value {
  let path = '';
  for (const part of parts.map(textValue))
    path = part.startsWith('/') || part.startsWith('~') || path === '' ? part : `${path}/${part}`;
  return path.length > maxText ? unknown : literal(path);
}
