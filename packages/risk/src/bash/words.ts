import type { Stream } from '../commands/stream.js';
import type { Piece } from '../piece.js';
import { downloadedHole, hole, numberHole } from '../place.js';
import { namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { combinations, maxChoices, toldTexts } from '../values/choices.js';
import { unescape } from '../values/escapes.js';
import { maxText } from '../values/value.js';
import { Assignments, type Assignment } from './assignments.js';
import { expandBraces } from './braces.js';
import { expandParameter } from './parameters.js';

/** Where an unquoted expansion lets a word fall apart. */
const gap = '\u0001';
/** What a process substitution leaves in its place. */
export const substitutedPath = '/dev/fd/63';
const maxDepth = 60;

/** A variable that decides what other programs load or run, where it is set. */
export interface Setting {
  readonly at: SyntaxNode;
  /** As `NAME=value`, one for each value it can have. */
  readonly texts: readonly string[];
}

/** What the words of a script are once variables and substitutions are filled in; what nobody knows is a hole. */
export class Words {
  readonly #piece: Piece;
  readonly #outputOf: (node: SyntaxNode) => Stream;
  readonly #noted: Assignments;
  readonly #open = new Set<string>();
  /** What variables are, and the words of nodes by their ids, while the positional parameters stay the same. */
  #values = new Map<string, readonly string[]>();
  #alternatives = new Map<number, readonly (readonly string[])[]>();
  /** By the ids of nodes: 1 where a substitution is inside. */
  readonly #substituting: Uint8Array;
  #positional: readonly string[] | undefined;
  #depth = 0;

  constructor(piece: Piece, outputOf: (node: SyntaxNode) => Stream) {
    this.#piece = piece;
    this.#outputOf = outputOf;
    this.#noted = new Assignments(piece.tree);
    this.#positional = piece.given?.args;
    this.#substituting = new Uint8Array(piece.tree.size);
  }

  /** Takes note of what the node sets. */
  collect(node: SyntaxNode): void {
    this.#noted.collect(node);
  }

  /** Where variables are set that decide what other programs load or run; all must have been collected. */
  settings(): readonly Setting[] {
    const { settings, declared } = this.#noted;
    return [
      ...settings.map(({ name, at }) => ({
        at,
        texts: this.#assigned(this.#noted.of(name)).map((value) => `${name}=${value}`),
      })),
      ...declared.map((at) => ({ at, texts: this.split(at) })),
    ];
  }

  /** Runs something with these positional parameters, as in the body of a function that is called; undefined are unknown. */
  within(positional: readonly string[] | undefined, run: () => void): void {
    const [before, values, alternatives] = [this.#positional, this.#values, this.#alternatives];
    this.#positional = positional;
    this.#values = new Map();
    this.#alternatives = new Map();
    try {
      run();
    } finally {
      this.#positional = before;
      this.#values = values;
      this.#alternatives = alternatives;
    }
  }

  /** Whether any of these names is set anywhere, or may be. */
  sets(...names: readonly string[]): boolean {
    return names.some((name) => this.#noted.of(name).length > 0 || this.#noted.isOpen(name));
  }

  /** Takes note that the node is a substitution, or has one inside. */
  substitutes(node: SyntaxNode): void {
    this.#substituting[node.id] = 1;
  }

  /** Hands over the commands inside substitutions, which run before the words they are part of. */
  runSubstitutions(node: SyntaxNode, run: (inner: SyntaxNode) => void): void {
    for (const child of node.children) {
      if (this.#substituting[child.id] !== 1) continue;
      if (child.type === 'command_substitution' || child.type === 'process_substitution') run(child);
      else if (child.named) this.runSubstitutions(child, run);
    }
  }

  /** The words that one word of the source becomes, of all that it can be. */
  split(node: SyntaxNode): readonly string[] {
    return this.alternatives(node).flat();
  }

  /** The words that one word of the source becomes: a list for each value that its variables can have. */
  alternatives(node: SyntaxNode): readonly (readonly string[])[] {
    // Inside of other words one may be cut short.
    if (this.#depth > 0 || this.#open.size > 0) return this.#alternativesOf(node);
    const lists = this.#alternatives.get(node.id) ?? this.#alternativesOf(node);
    this.#alternatives.set(node.id, lists);
    return lists;
  }

  #alternativesOf(node: SyntaxNode): readonly (readonly string[])[] {
    const choices = this.#choices(node, false);
    const isPlain = node.type === 'word' || node.type === 'concatenation';
    return choices.map((choice) => {
      // Most are one word, as it stands.
      if (choice !== '' && !choice.includes(gap) && !(isPlain && choice.includes('{'))) return [choice];
      if (choice === '' && !this.#vanishes(node)) return [choice];
      const words = choice.split(gap).filter((word) => word !== '');
      return isPlain ? words.flatMap((word) => expandBraces(word)) : words;
    });
  }

  /** Whether there is no word at all when it is empty: `$x` and "$@" are so, "$x" is not. */
  #vanishes(node: SyntaxNode): boolean {
    return node.type.endsWith('expansion') || textOf(this.#piece.tree, node).includes('@');
  }

  /** The texts that the node can be, each as one. */
  expand(node: SyntaxNode): readonly string[] {
    const choices = this.#choices(node, true);
    return choices.length === 0 ? [hole] : choices.map((choice) => choice.replaceAll(gap, ' '));
  }

  #choices(node: SyntaxNode, quoted: boolean): readonly string[] {
    if (!this.#piece.spend() || this.#depth > maxDepth) return [hole];
    this.#depth += 1;
    try {
      return toldTexts(this.#read(node, quoted));
    } finally {
      this.#depth -= 1;
    }
  }

  #read(node: SyntaxNode, quoted: boolean): readonly string[] {
    const text = textOf(this.#piece.tree, node);
    switch (node.type) {
      case 'word':
      case 'extglob_pattern':
      case 'regex':
        return node.children.length > 0 ? this.#parts(node, quoted) : [unescaped(text)];
      case 'raw_string':
        return [text.slice(1, -1)];
      case 'ansi_c_string':
      case 'ansii_c_string':
        return [unescape(text.slice(2, -1))];
      case 'string_content':
        return [text.replace(/\\\n/g, '').replace(/\\([$`"\\])/g, '$1')];
      case 'string':
      case 'translated_string':
        return this.#parts(node, true);
      case 'concatenation':
      case 'heredoc_body':
        return this.#parts(node, quoted);
      case 'simple_expansion':
        return this.#spread(this.#items(text.slice(1)), quoted);
      case 'expansion':
        return this.#spread(this.#expansion(node), quoted);
      case 'command_substitution':
        return this.#spread([this.#printed(node)], quoted);
      case 'process_substitution':
        return [substitutedPath];
      case 'arithmetic_expansion':
        return [numberHole];
      case 'array':
        return [
          namedChildren(node)
            .flatMap((item) => this.split(item))
            .join(gap),
        ];
      default:
        return [text];
    }
  }

  /** What lies between the parts of a string is part of it too. */
  #parts(node: SyntaxNode, quoted: boolean): readonly string[] {
    const { text } = this.#piece.tree;
    let choices: readonly string[] = [''];
    let at = node.start;
    const append = (more: readonly string[]) => {
      const [before, after] = [choices[0], more[0]];
      const isOne = choices.length === 1 && more.length === 1;
      if (isOne && before !== undefined && after !== undefined) choices = [bounded(before + after)];
      else choices = combinations([choices, more], hole).map((both) => bounded(both.join('')));
    };
    for (const child of node.children) {
      if (child.start > at) append([text.slice(at, child.start)]);
      at = child.end;
      if (child.type === '"' || child.type === '$"' || child.type === '$') continue;
      append(this.#choices(child, quoted));
    }
    if (at < node.end && node.type === 'heredoc_body') append([text.slice(at, node.end)]);
    return choices;
  }

  /** Unquoted, what comes of an expansion falls apart at blanks, and at what IFS may be. */
  #spread(values: readonly string[], quoted: boolean): readonly string[] {
    if (quoted) return values;
    const plain = values.map((value) => value.replace(/[ \t\n]+/g, gap));
    const marks = this.#marks();
    if (marks === '') return plain;
    const apart = plain.map((value) =>
      Array.from(value, (letter) => (marks.includes(letter) || marks.includes(hole) ? gap : letter)).join(''),
    );
    return [...plain, ...apart.filter((value, index) => value !== plain[index])];
  }

  #marks(): string {
    if (this.#noted.of('IFS').length === 0 || this.#open.has('IFS')) return '';
    return this.#variable('IFS')
      .join('')
      .replace(/[ \t\n]/g, '');
  }

  #printed(node: SyntaxNode): string {
    const stream = this.#outputOf(node);
    if (stream.kind === 'download') return downloadedHole;
    return stream.kind === 'text' ? stream.text.replace(/\n+$/, '') : hole;
  }

  #expansion(node: SyntaxNode): readonly string[] {
    return expandParameter(this.#piece.tree, node, {
      variable: (name) =>
        this.#noted.scattered.has(name) ? [...this.#variable(name), hole] : this.#variable(name),
      items: (name) => this.#items(name),
      expand: (inner) => this.expand(inner),
    });
  }

  /** What a name is where it stands for one text: of an array, any of its items. */
  #items(name: string): readonly string[] {
    const values = this.#variable(name);
    if (name === '@' || name === '*' || !values.some((value) => value.includes(gap))) return values;
    return toldTexts(values.flatMap((value) => value.split(gap)));
  }

  #variable(name: string): readonly string[] {
    if (name === '@' || name === '*') return this.#parameters((list) => list.join(gap));
    if (/^\d+$/.test(name)) return this.#parameters((list) => list[Number(name) - 1] ?? hole);
    const special = specialVariables[name];
    const known = this.#values.get(name);
    if (known) return known;
    const assignments = this.#noted.of(name);
    const isOpen = this.#noted.isOpen(name);
    if (assignments.length === 0 || this.#open.has(name))
      return special === undefined ? [hole] : isOpen ? [special, hole] : [special];
    this.#open.add(name);
    const assigned = this.#assigned(assignments);
    this.#open.delete(name);
    const values = [...(special === undefined ? [] : [special]), ...assigned, ...(isOpen ? [hole] : [])];
    this.#values.set(name, values);
    return values;
  }

  /** Of the positional parameters as they were given and as they are set; what else they can be nobody knows. */
  #parameters(pick: (list: readonly string[]) => string): readonly string[] {
    const lists = [this.#positional ?? []];
    const { sets, moves } = this.#noted;
    if (sets.length > 0 && !this.#open.has('@')) {
      this.#open.add('@');
      for (const words of sets.slice(0, maxChoices)) lists.push(words.flatMap((word) => this.split(word)));
      if (sets.length > maxChoices) lists.push([hole]);
      this.#open.delete('@');
    }
    const known = lists.map(pick);
    return this.#positional && !moves ? known : [...known, hole];
  }

  #assigned(assignments: readonly Assignment[]): readonly string[] {
    let values: readonly string[] = [];
    /** What was there before something was added to it. */
    const before: string[] = [];
    for (const { value, append, each, empty } of assignments) {
      const isArray = value?.type === 'array';
      const more = empty ? [''] : !value ? [hole] : each ? this.split(value) : this.#choices(value, true);
      // Only of an array the words stay apart.
      const added = isArray ? more : more.map((one) => one.replaceAll(gap, ' '));
      if (append) {
        if (before.length <= maxChoices) before.push(...values);
        const longer = combinations([values.length === 0 ? [hole] : values, added], hole);
        values = longer.map((both) => bounded(both.join(isArray ? gap : '')));
      } else values = [...values, ...added];
      values = toldTexts(values);
    }
    return toldTexts([...values, ...before]);
  }
}

/** A word without its backslashes. */
function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\\n/g, '').replace(/\\([\s\S])/g, '$1') : text;
}

function bounded(text: string): string {
  return text.length > maxText ? hole : text;
}

/** What they are unless they are set. */
const specialVariables: Partial<Record<string, string>> = Object.assign(Object.create(null) as object, {
  IFS: ' ',
  HOME: '~',
  PATH: '/usr/bin:/bin',
  PWD: '.',
  TMPDIR: '/tmp',
  '!': '%!',
});
