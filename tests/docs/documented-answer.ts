import { expect } from '@jest/globals';

/** Figures that differ from run to run. */
const measured = /_ms$|_bytes$/;

/**
 * What an answer has to be by its documentation. `…` stands for any text or value, as a field for more fields, as the last of
 * a list for more of it, and on a line of its own for any number of lines.
 */
export function expectedOf(documented: unknown, name = ''): unknown {
  if (typeof documented === 'number' && measured.test(name)) return expect.any(Number);
  if (documented === '…') return expect.anything();
  if (typeof documented === 'string') return documented.includes('…') ? textLike(documented) : documented;
  if (Array.isArray(documented)) {
    const items = documented.map((item) => expectedOf(item));
    return documented.at(-1) === '…' ? expect.arrayContaining(items.slice(0, -1)) : items;
  }
  if (typeof documented === 'object' && documented !== null) {
    const { '…': more, ...fields } = documented as Readonly<Record<string, unknown>>;
    const told = Object.fromEntries(
      Object.entries(fields).map(([field, child]) => [field, expectedOf(child, field)]),
    );
    return more === undefined ? told : expect.objectContaining(told);
  }
  return documented;
}

/**
 * What the reader has in variables after an answer: each field and header that its documentation shows, so that
 * `$EXEC_ID` is the `exec_id`. Of several of one name, the first.
 */
export function variablesOf(told: unknown, documented: unknown): Record<string, string> {
  if (typeof told === 'string' && typeof documented === 'string') return headersOf(told, documented);
  if (typeof told !== 'object' || told === null) return {};
  if (typeof documented !== 'object' || documented === null) return {};
  const found: Record<string, string> = {};
  const shown = Object.entries(documented as Readonly<Record<string, unknown>>);
  for (const [field, child] of shown) {
    const value = (told as Readonly<Record<string, unknown>>)[field];
    if (typeof value === 'string' && !Array.isArray(told)) found[field.toUpperCase()] ??= value;
    else for (const [name, text] of Object.entries(variablesOf(value, child))) found[name] ??= text;
  }
  return found;
}

function headersOf(told: string, documented: string): Record<string, string> {
  const names = new Set([...documented.matchAll(/^([\w-]+): /gm)].map(([, name]) => name));
  const headers = [...told.matchAll(/^([\w-]+): (.*)$/gm)].filter(([, name]) => names.has(name));
  return Object.fromEntries(
    headers.map(([, name = '', value = '']) => [name.toUpperCase().replaceAll('-', '_'), value]),
  );
}

function textLike(documented: string): unknown {
  const pattern = documented
    .split(/^…(?:\n|$)/m)
    .map((part) => part.split('…').map(escaped).join('.*'))
    .join('[^]*?');
  return expect.stringMatching(new RegExp(`^${pattern}$`));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
