/** What a log line says beside its event. */
export type Fields = Readonly<Record<string, unknown>>;

const sensitiveKey =
  /^(authorization|proxy-authorization|cookie|set-cookie|x-api-key|api_?key|password|passphrase|secret|token|stdin|content|content_base64|env)$/i;

const maxDepth = 6;
const maxEntries = 64;
const maxStringLength = 4096;

/** A copy that is safe to write: no value under a sensitive key, bounded in depth, breadth and length. */
export function redact(fields: Fields): Fields {
  return redactObject(fields, 0);
}

function redactObject(object: Readonly<Record<string, unknown>>, depth: number): Fields {
  const entries = Object.entries(object)
    .filter(([, value]) => value !== undefined)
    .slice(0, maxEntries)
    .map(([key, value]) => [key, sensitiveKey.test(key) ? '[redacted]' : redactValue(value, depth + 1)]);
  return Object.fromEntries(entries) as Fields;
}

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return shorten(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return `[${typeof value}]`;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
  if (Buffer.isBuffer(value)) return `[${value.length} bytes]`;
  if (depth > maxDepth) return '[…]';
  if (value instanceof Error) return redactError(value, depth);
  if (Array.isArray(value)) return value.slice(0, maxEntries).map((item) => redactValue(item, depth + 1));
  return redactObject(value as Record<string, unknown>, depth);
}

function redactError(error: Error, depth: number): Fields {
  const code = (error as { code?: unknown }).code;
  return {
    name: error.name,
    message: shorten(error.message),
    ...(code === undefined ? {} : { code: redactValue(code, depth + 1) }),
    ...(error.stack === undefined ? {} : { stack: shorten(error.stack) }),
    ...(error.cause === undefined ? {} : { cause: redactValue(error.cause, depth + 1) }),
  };
}

function shorten(text: string): string {
  return text.length <= maxStringLength ? text : `${text.slice(0, maxStringLength)}…`;
}

/** Control characters (ANSI escapes and line breaks among them) as visible escapes, so one event stays one line. */
export function oneLine(text: string): string {
  return text.replace(
    // C0, DEL, C1, the Unicode line breaks and the marks that reorder text
    /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
