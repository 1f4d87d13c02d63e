import { hole } from '../place.js';
import { decoders, encoded, type DecoderName } from '../values/decode.js';
import {
  derived,
  literal,
  maxItems,
  reference,
  unknown,
  type List,
  type Reference,
  type Value,
} from '../values/value.js';
import { canonical } from './canonical.js';
import type { Arguments } from './arguments.js';
import { joinedPath, textValue } from './operators.js';

type Member = (object: Value, name: string, hidden: boolean) => Value;

const decodingFunctions: ReadonlyMap<string, DecoderName> = new Map(
  Object.entries({
    'base64.b64decode': 'base64',
    'base64.urlsafe_b64decode': 'base64',
    'base64.standard_b64decode': 'base64',
    'base64.decodebytes': 'base64',
    'base64.decodestring': 'base64',
    'binascii.a2b_base64': 'base64',
    'base64.b32decode': 'base32',
    'base64.b16decode': 'hex',
    'binascii.unhexlify': 'hex',
    'binascii.a2b_hex': 'hex',
    'builtins.bytes.fromhex': 'hex',
    'builtins.bytearray.fromhex': 'hex',
    'zlib.decompress': 'zlib',
    'gzip.decompress': 'gzip',
    'urllib.parse.unquote': 'percent',
  } satisfies Record<string, DecoderName>),
);

const namedDecoders: Readonly<Record<string, DecoderName>> = {
  rot13: 'rot13',
  rot_13: 'rot13',
  base64: 'base64',
  base64_codec: 'base64',
  hex: 'hex',
  hex_codec: 'hex',
  zlib: 'zlib',
  zlib_codec: 'zlib',
  zip: 'zlib',
};

/** What a call gives back, where its function is known and does no harm in giving it. */
export function foldCall(target: Reference, given: Arguments, member: Member): Value {
  const { path } = target;
  const [first = unknown, second = unknown] = given.positional;
  const decoder = decodingFunctions.get(path);
  if (decoder) return decoded(decoder, first);
  switch (path) {
    case 'builtins.chr':
    case 'builtins.unichr':
      return first.kind === 'number' && first.number >= 0 && first.number <= 0x10ffff
        ? derived(String.fromCodePoint(Math.floor(first.number)), [], 'assembled')
        : unknown;
    case 'builtins.ord':
      return first.kind === 'text' && first.text.length > 0
        ? { kind: 'number', number: first.text.codePointAt(0) ?? 0 }
        : unknown;
    case 'builtins.int':
      return parsedNumber(first, second);
    case 'builtins.str':
    case 'builtins.format':
      if (given.positional.length > 1) return unknown;
      return first.kind === 'number' || first.kind === 'text'
        ? derived(textValue(first), [first], 'assembled')
        : unknown;
    case 'builtins.bytes':
    case 'builtins.bytearray':
      return given.positional.length > 1 && !isPlainEncoding(second) ? unknown : bytesFrom(first);
    case 'builtins.sorted':
      return given.named.size > 0 ? unknown : sorted(first);
    case 'builtins.list':
    case 'builtins.tuple':
    case 'builtins.set':
      return first.kind === 'text' ? characters(first) : first;
    case 'builtins.reversed':
      return reversed(first);
    case 'builtins.map':
      return mapped(first, second);
    case 'builtins.range':
      return ranged(given);
    case 'builtins.getattr':
      return second.kind === 'text' && !second.text.includes(hole)
        ? member(first, second.text, true)
        : reference('<names>.?', true, first);
    case 'builtins.__import__':
    case 'importlib.import_module':
    case 'importlib.__import__':
    case 'pydoc.locate':
      return first.kind === 'text' && !first.text.includes(hole)
        ? reference(canonical(first.text), true)
        : reference('<names>.?', true);
    case 'pkgutil.resolve_name':
      return first.kind === 'text' && !first.text.includes(hole)
        ? reference(canonical(first.text.replace(':', '.')), true)
        : reference('<names>.?', true);
    // By map(): a copy.
    case 'builtins.dict':
    case 'copy.copy':
    case 'copy.deepcopy':
    case 'types.MappingProxyType':
      return first;
    case 'codecs.decode': {
      const name = given.positional.length < 2 ? 'utf8' : decoderNamed(second);
      return name ? decoded(name, first) : unknown;
    }
    case 'shlex.split':
      return foldMethod('split', first, { positional: [], named: new Map() });
    case 'os.path.join':
      return joinedPath(given.positional);
    case 'pathlib.Path':
    case 'pathlib.PurePath':
    case 'pathlib.PosixPath':
      return given.positional.length === 0 ? literal('.') : joinedPath(given.positional);
    case 'pathlib.Path.home':
      return literal('~');
    case 'pathlib.Path.cwd':
    case 'os.getcwd':
      return literal('.');
    case 'tempfile.gettempdir':
      return literal('/tmp');
    case 'os.path.expanduser':
    case 'os.path.abspath':
    case 'os.path.realpath':
    case 'os.path.normpath':
    case 'os.path.expandvars':
    case 'os.fspath':
      return first.kind === 'text' ? literal(first.text.replace(/^\$\{?HOME\}?/, '~')) : unknown;
    case 'os.path.dirname':
      return first.kind === 'text' ? literal(first.text.split('/').slice(0, -1).join('/') || '.') : unknown;
    case 'os.environ.get':
    case 'os.getenv':
      return first.kind === 'text' && first.text === 'HOME' ? literal('~') : unknown;
    default:
      return reference(`${path}()`, target.hidden, first);
  }
}

/** What vars() gives: the names of the object, or those of the program. */
export function namesOf(object: Value | undefined): Reference {
  if (!object) return reference('<names>');
  return reference(`${object.kind === 'reference' ? object.path : '?'}.__dict__`, false, object);
}

/** What a method of a text or a list gives back. */
export function foldMethod(name: string, subject: Value, given: Arguments): Value {
  const values = given.positional;
  const [first = unknown, second = unknown] = values;
  if (subject.kind !== 'text') return unknown;
  const { text } = subject;
  const firstText = first.kind === 'text' ? first.text : undefined;
  switch (name) {
    case 'join': {
      const items =
        first.kind === 'list'
          ? first.items
          : first.kind === 'text'
            ? Array.from(first.text).map(literal)
            : undefined;
      return items
        ? derived(items.map(textValue).join(text), [subject, ...items], 'assembled')
        : derived(hole, [], 'assembled');
    }
    case 'format': {
      let next = 0;
      const filled = text.replace(/\{\{|\}\}|\{(\w*)([^{}]*)\}/g, (mark, key?: string, rest = '') => {
        if (key === undefined) return mark.charAt(0);
        // Cut, padded or turned, or a part of the value.
        if (rest !== '') return hole;
        if (key === '') return textValue(values[next++] ?? unknown);
        return textValue((/^\d+$/.test(key) ? values[Number(key)] : given.named.get(key)) ?? unknown);
      });
      return derived(filled, [subject], 'assembled');
    }
    case 'replace':
      return firstText === undefined || second.kind !== 'text' || values.length > 2 || text.includes(hole)
        ? unknown
        : derived(firstText === '' ? text : text.replaceAll(firstText, second.text), [subject], 'assembled');
    case 'lower':
    case 'casefold':
      return derived(text.toLowerCase(), [subject], 'assembled');
    case 'upper':
      return derived(text.toUpperCase(), [subject], 'assembled');
    case 'swapcase':
      return derived(
        Array.from(text)
          .map((c) => (c === c.toUpperCase() ? c.toLowerCase() : c.toUpperCase()))
          .join(''),
        [subject],
        'assembled',
      );
    case 'strip':
    case 'lstrip':
    case 'rstrip':
      return values.length === 0 ? derived(trimmed(name, text), [subject], 'assembled') : unknown;
    case 'split': {
      if (values.length > 1 || given.named.size > 0) return unknown;
      const parts = firstText === undefined ? text.trim().split(/\s+/) : text.split(firstText);
      return {
        kind: 'list',
        items: parts.slice(0, maxItems).map((part) => derived(part, [subject], 'assembled')),
      };
    }
    case 'encode': {
      const decoder = decoderOf(given);
      if (decoder === 'rot13') return decoded('rot13', subject);
      return decoder === 'utf8' ? { ...subject, text: encoded(text) } : unknown;
    }
    case 'decode': {
      const decoder = decoderOf(given);
      if (!decoder) return unknown;
      return decoder === 'utf8' ? { ...subject, text: decoders.utf8(text) } : decoded(decoder, subject);
    }
    case 'joinpath':
      return joinedPath([subject, ...values]);
    case 'expanduser':
    case 'resolve':
    case 'absolute':
    case 'as_posix':
      return subject;
    case 'with_suffix':
    case 'with_name':
      return joinedPath([literal(text.split('/').slice(0, -1).join('/') || '.'), literal(hole)]);
    default:
      return reference(`?.${name}()`, false, subject);
  }
}

function trimmed(name: string, text: string): string {
  if (name === 'strip') return text.trim();
  return name === 'lstrip' ? text.trimStart() : text.trimEnd();
}

function decoded(name: DecoderName, value: Value): Value {
  if (value.kind !== 'text' || value.text.includes(hole)) return unknown;
  const text = decoders[name](value.text);
  return text === undefined
    ? unknown
    : derived(text, [value], name === 'utf8' || name === 'percent' ? 'assembled' : 'decoded');
}

function decoderOf({ positional: [first], named }: Arguments): DecoderName | undefined {
  const encoding = first ?? named.get('encoding');
  return encoding === undefined ? 'utf8' : decoderNamed(encoding);
}

function decoderNamed(encoding: Value): DecoderName | undefined {
  if (encoding.kind !== 'text') return undefined;
  return isPlainEncoding(encoding) ? 'utf8' : namedDecoders[encoding.text.toLowerCase()];
}

function isPlainEncoding(encoding: Value): boolean {
  return encoding.kind === 'text' && /^(utf-?8|u8|ascii|us-ascii|latin-?1|iso-8859-1)$/i.test(encoding.text);
}

/** Texts in the order that python gives them. */
function sorted(value: Value): Value {
  const items = value.kind === 'text' ? characters(value).items : value.kind === 'list' ? value.items : [];
  const texts = items.filter((item) => item.kind === 'text');
  if (texts.length === 0 || texts.length < items.length) return unknown;
  return {
    kind: 'list',
    items: texts.sort((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0)),
  };
}

function characters(value: Value & { kind: 'text' }): List {
  return {
    kind: 'list',
    items: Array.from(value.text)
      .slice(0, maxItems)
      .map((character) => derived(character, [value], 'assembled')),
  };
}

function reversed(value: Value): Value {
  if (value.kind === 'list') return { kind: 'list', items: [...value.items].reverse() };
  return value.kind === 'text' ? { kind: 'list', items: [...characters(value).items].reverse() } : unknown;
}

function mapped(how: Value, over: Value): Value {
  const items = over.kind === 'list' ? over.items : over.kind === 'text' ? characters(over).items : undefined;
  if (how.kind !== 'reference' || !items) return unknown;
  const given = (item: Value): Arguments => ({ positional: [item], named: new Map() });
  return { kind: 'list', items: items.map((item) => foldCall(how, given(item), () => unknown)) };
}

function ranged({ positional }: Arguments): Value {
  const bounds = positional.map((value) => (value.kind === 'number' ? value.number : Number.NaN));
  const [start, stop, step = 1] = bounds.length === 1 ? [0, bounds[0] ?? 0] : bounds;
  if (start === undefined || stop === undefined || bounds.some(Number.isNaN) || step === 0) return unknown;
  const items: Value[] = [];
  for (let at = start; step > 0 ? at < stop : at > stop; at += step) {
    if (items.length >= 2048) return unknown;
    items.push({ kind: 'number', number: at });
  }
  return { kind: 'list', items };
}

function parsedNumber(value: Value, base: Value): Value {
  if (value.kind === 'number') return { kind: 'number', number: Math.trunc(value.number) };
  if (value.kind !== 'text') return unknown;
  const radix = base.kind === 'number' && base.number >= 2 && base.number <= 36 ? base.number : 10;
  const number = Number.parseInt(value.text.replace(/^0[xob]/i, ''), radix);
  return Number.isNaN(number) ? unknown : { kind: 'number', number };
}

function bytesFrom(value: Value): Value {
  if (value.kind === 'text') return value;
  if (value.kind !== 'list' || !value.items.every((item) => item.kind === 'number')) return unknown;
  const text = value.items.map((item) => String.fromCharCode(item.number & 0xff)).join('');
  return derived(text, [], 'decoded');
}
