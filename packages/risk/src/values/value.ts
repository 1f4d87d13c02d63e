/** What an expression can be, as far as it is known without running it. */
export type Value = Text | Numeric | List | Table | Reference | Unknown;

/** Parts known only at run time are `hole`s. */
export interface Text {
  readonly kind: 'text';
  readonly text: string;
  /** Put together from pieces, so that nobody finds it by searching. */
  readonly assembled: boolean;
  /** Came out of a decoder such as base64. */
  readonly decoded: boolean;
}

export interface Numeric {
  readonly kind: 'number';
  readonly number: number;
  /** As a text it is True or False. */
  readonly isBoolean?: true;
}

export interface List {
  readonly kind: 'list';
  readonly items: readonly Value[];
}

export interface Table {
  readonly kind: 'table';
  readonly entries: ReadonlyMap<string, readonly Value[]>;
  /** Whose members it has as well; none of them is a table. */
  readonly from?: readonly Value[];
}

/** Something of the language or of a module, by its dotted name; a call of it adds `()`. */
export interface Reference {
  readonly kind: 'reference';
  readonly path: string;
  /** Reached by a name in a text. */
  readonly hidden: boolean;
  /** What it was called with, or is a method of. */
  readonly subject?: Value;
}

export interface Unknown {
  readonly kind: 'unknown';
}

export const unknown: Unknown = { kind: 'unknown' };

/** Texts that grow past this are not followed further. */
export const maxText = 64 * 1024;
export const maxItems = 4096;

export function literal(text: string): Text {
  return { kind: 'text', text, assembled: false, decoded: false };
}

export function reference(path: string, hidden = false, subject?: Value): Reference {
  return subject ? { kind: 'reference', path, hidden, subject } : { kind: 'reference', path, hidden };
}

/** What comes of texts: assembled or decoded if one of them was. */
export function derived(text: string, from: readonly Value[], how: 'assembled' | 'decoded'): Value {
  if (text.length > maxText) return unknown;
  return {
    kind: 'text',
    text,
    assembled: how === 'assembled' || from.some((value) => value.kind === 'text' && value.assembled),
    decoded: how === 'decoded' || from.some((value) => value.kind === 'text' && value.decoded),
  };
}
