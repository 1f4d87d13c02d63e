import { hole, numberHole } from '../place.js';
import { decoders, type Decoder } from '../values/decode.js';
import { unescape } from '../values/escapes.js';
import { maxText } from '../values/value.js';

/** What comes out of one program and goes into the next. */
export type Stream =
  | { readonly kind: 'text'; readonly text: string; readonly decoded: boolean }
  | { readonly kind: 'download' }
  | { readonly kind: 'unknown' };

export const unknownStream: Stream = { kind: 'unknown' };

export function plainText(text: string): Stream {
  return { kind: 'text', text, decoded: false };
}

/** What a program of this name prints when it reads `stdin`, where that can be told without running it. */
export function outputOf(name: string, args: readonly string[], stdin: Stream | undefined): Stream {
  if (name === 'echo') return orUnknown(echoed(args));
  if (name === 'printf') return orUnknown(printed(args));
  if (name === 'curl' || name === 'wget' || name === 'aria2c') return { kind: 'download' };
  if (stdin?.kind === 'download') return stdin;
  if (name === 'cat' || name === 'tee') {
    return stdin && (name === 'tee' || args.every((arg) => arg === '-')) ? stdin : unknownStream;
  }
  const decode = decoderOf(name, args);
  // A here-string's text may also be given as the decoder's own last word.
  if (!decode || stdin?.kind !== 'text' || stdin.text.includes(hole)) return unknownStream;
  const result = decode(stdin.text);
  return result === undefined ? unknownStream : text(result, true);
}

function orUnknown(result: string | undefined): Stream {
  return result === undefined ? unknownStream : text(result);
}

function text(result: string, decoded = false): Stream {
  return result.length > maxText ? unknownStream : { kind: 'text', text: result, decoded };
}

function decoderOf(name: string, args: readonly string[]): Decoder | undefined {
  // What they are told to read instead is not known.
  if (name !== 'tr' && args.some((arg) => !arg.startsWith('-') && !/^(base64|enc)$/.test(arg)))
    return undefined;
  const has = (...options: string[]) => options.some((option) => args.includes(option));
  switch (name) {
    case 'base64':
      return has('-d', '-D', '--decode', '-di', '-id') ? decoders.base64 : undefined;
    case 'base32':
      return has('-d', '--decode') ? decoders.base32 : undefined;
    case 'openssl':
      return has('base64', '-base64') && has('-d') ? decoders.base64 : undefined;
    case 'xxd':
      return has('-r', '-rp') && args.every((arg) => /^-(r|p|ps|rp)$/.test(arg)) ? decoders.hex : undefined;
    case 'gunzip':
    case 'zcat':
      return decoders.gzip;
    case 'gzip':
      return args.some((arg) => /^-\w*d/.test(arg)) ? decoders.gzip : undefined;
    case 'rev':
      return (input) =>
        input
          .split('\n')
          .map((line) => Array.from(line).reverse().join(''))
          .join('\n');
    case 'tr':
      return (input) => translated(input, args);
    default:
      return undefined;
  }
}

function echoed(args: readonly string[]): string | undefined {
  let at = 0;
  let escapes = false;
  let newline = true;
  for (; /^-[neE]+$/.test(args[at] ?? ''); at += 1) {
    escapes ||= args[at]?.includes('e') === true;
    if (args[at]?.includes('n')) newline = false;
  }
  const joined = args.slice(at).join(' ');
  const result = escapes ? printable(joined) : joined;
  return result === undefined ? undefined : result + (newline ? '\n' : '');
}

/** What echo -e and %b make of a text: \\0 is followed by three digits, and \\c ends all. */
function printable(text: string): string | undefined {
  if (/(^|[^\\])(\\\\)*\\c/.test(text)) return undefined;
  return unescape(
    text.replace(/\\(?:0([0-7]{1,3})|([^]))/g, (all, octal?: string) =>
      octal === undefined ? all : `\\${octal}`,
    ),
  );
}

/** Only texts and numbers: what is cut, padded with blanks or turned into something else is not followed. */
function printed(args: readonly string[]): string | undefined {
  const [format = '', ...values] = args[0] === '--' ? args.slice(1) : args;
  if (format.startsWith('-') || /%(?!(?:[sb%]|(?:0\d*)?[diu]))/.test(format.replaceAll('%%', '')))
    return undefined;
  const left = [...values];
  let unknown = 0;
  const once = () =>
    unescape(format).replace(/%(0\d*)?([%sbdiu])/g, (_, padding: string | undefined, kind: string) => {
      if (kind === '%') return '%';
      const value = left.shift() ?? (kind === 's' || kind === 'b' ? '' : '0');
      if (/[diu]/.test(kind)) return !padding && /^(0|-?[1-9]\d*)$/.test(value) ? value : numberHole;
      const shown = kind === 'b' ? printable(value) : value;
      if (shown === undefined) unknown += 1;
      return shown ?? '';
    });
  let result = once();
  while (left.length > 0 && left.length < values.length && result.length < maxText) {
    const before = left.length;
    result += once();
    if (left.length === before) break;
  }
  return unknown > 0 ? undefined : result;
}

function translated(input: string, args: readonly string[]): string | undefined {
  const options = args.filter((arg) => arg.startsWith('-') && arg !== '-');
  const [first = '', second = ''] = args.filter((arg) => !options.includes(arg)).map(expandedSet);
  const from = Array.from(first);
  const to = Array.from(second);
  if (options.some((option) => option !== '-d') || from.includes('[') || to.includes('[')) return undefined;
  if (options.length > 0) return from.length === 0 ? undefined : without(input, from);
  return Array.from(input)
    .map((letter) => (from.includes(letter) ? (to[from.lastIndexOf(letter)] ?? to.at(-1) ?? letter) : letter))
    .join('');
}

function without(input: string, letters: readonly string[]): string {
  return Array.from(input)
    .filter((letter) => !letters.includes(letter))
    .join('');
}

function expandedSet(set: string): string {
  return unescape(set).replace(/(.)-(.)/gs, (_, first: string, last: string) => {
    const codes = [];
    for (let code = first.charCodeAt(0); code <= last.charCodeAt(0) && codes.length < 256; code += 1)
      codes.push(code);
    return String.fromCharCode(...codes);
  });
}
