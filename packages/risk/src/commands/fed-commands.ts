import { hole } from '../place.js';
import { maxChoices } from '../values/choices.js';
import { unescape } from '../values/escapes.js';
import type { Stream } from './stream.js';

interface Fed {
  /** What is run, without the words that are read. */
  readonly rest: readonly string[];
  readonly stdin: Stream | undefined;
}

/** The commands that xargs and parallel make of what they read. */
export function fedCommands(
  name: string,
  own: readonly string[],
  { rest, stdin }: Fed,
): { readonly commands: readonly (readonly string[])[]; readonly stdin?: Stream } {
  const options = optionsOf(own);
  const commands = commandsOf(name, options, { rest, stdin });
  // What is read here is no longer there for what is run.
  return { commands, ...(options.unseen && stdin && { stdin }) };
}

function commandsOf(
  name: string,
  options: ReturnType<typeof optionsOf>,
  { rest, stdin }: Fed,
): readonly (readonly string[])[] {
  // By itself xargs prints what it reads, and parallel runs it.
  const command = rest.length === 0 && name === 'xargs' ? ['echo'] : rest;
  const isWhole = options.placeholder !== undefined || name === 'parallel';
  const placeholder = options.placeholder ?? '{}';
  const given = options.unseen ? [hole] : itemsOf(stdin, isWhole ? (options.mark ?? '\n') : options.mark);
  const items = given.length > maxChoices ? [...given.slice(0, maxChoices), hole] : given;
  // With a mark of its own xargs adds no item at the end.
  if (
    name === 'xargs' ? options.placeholder !== undefined : command.some((word) => word.includes(placeholder))
  )
    return items.map((item) => command.map((word) => word.replaceAll(placeholder, item)));
  if (name === 'parallel') return items.map((item) => [...command, ...item.split(/\s+/)]);
  // In portions of a size that is set each item may be the first; the first way has all of them.
  if (!options.portions) return [[...command, ...given]];
  return items.map((_, index) => [...command, ...(index === 0 ? given : items.slice(index))]);
}

function optionsOf(own: readonly string[]) {
  let placeholder: string | undefined;
  let mark: string | undefined;
  let portions = false;
  let unseen = false;
  for (const [index, word] of own.entries()) {
    const next = own[index + 1] ?? hole;
    const [, long = '', value] = /^--([a-z-]+)(?:=([^]*))?$/.exec(word) ?? [];
    const [, bundle = '', letter = '', glued = ''] =
      /^-([0prtxoq]*)([IiPndEaLls]?)([^]*)$/.exec(long === '' ? word : '') ?? [];
    if (bundle.includes('0') || long.startsWith('nu')) mark = '\0';
    if (letter === 'I') placeholder = glued || next;
    else if (letter === 'i' || long.startsWith('r')) placeholder = (value ?? glued) || '{}';
    else if (letter === 'd' || long.startsWith('d')) mark = unescape((value ?? glued) || next);
    else if ('nLls'.includes(letter || ' ') || long.startsWith('max-')) portions = true;
    else if (letter === 'a' || long.startsWith('a')) unseen = true;
  }
  return { placeholder, mark, portions, unseen };
}

/** What xargs takes for one item each: up to a mark, or words, in which quotes and backslashes have a meaning. */
function itemsOf(stdin: Stream | undefined, mark: string | undefined): readonly string[] {
  if (stdin?.kind !== 'text') return [hole];
  const parts = mark === undefined ? stdin.text.split(/\s+/) : stdin.text.split(mark);
  const items = parts.map((part) => part.replace(mark === '\n' ? /^[ \t]+|\n$/g : /\n$/, ''));
  return items
    .filter((item) => item !== '')
    .map((item) => (mark === undefined && /["'\\]/.test(item) ? hole : item));
}
