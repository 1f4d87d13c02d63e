import type { Stream } from '../commands/stream.js';
import { isCommanding } from '../commands/environment.js';
import type { Piece } from '../piece.js';
import { downloadedHole, hole } from '../place.js';
import { childOf, childrenOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { unescape } from '../values/escapes.js';
import { maxText } from '../values/value.js';
import { expandBraces } from './braces.js';
import { expandParameter } from './parameters.js';

interface Assignment {
  readonly value: SyntaxNode | undefined;
  readonly append: boolean;
}

/** Where an unquoted expansion lets a word fall apart. */
const gap = '\u0001';
/** What a process substitution leaves in its place. */
export const substitutedPath = '/dev/fd/63';
const maxChoices = 8;
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
  readonly #assignments = new Map<string, Assignment[]>();
  readonly #settings: { readonly name: string; readonly at: SyntaxNode }[] = [];
  /** Words that are exported or declared as a text, such as "A=$b". */
  readonly #declared: SyntaxNode[] = [];
  /** What `set` makes the positional parameters be. */
  readonly #sets: (readonly SyntaxNode[])[] = [];
  /** Whether there is what changes them in ways that are not followed. */
  #moves = false;
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
    this.#positional = piece.given?.args;
    this.#substituting = new Uint8Array(piece.tree.size);
  }

  /** Takes note of what the node sets. */
  collect(node: SyntaxNode): void {
    const { tree } = this.#piece;
    if (node.type === 'variable_assignment') {
      const name = childOf(node, 'name');
      const append = node.children.some((child) => child.type === '+=');
      if (name) this.#note(textOf(tree, name), { value: childOf(node, 'value'), append }, node);
    } else if (node.type === 'for_statement') {
      const name = childOf(node, 'variable');
      const values = childrenOf(node, 'value');
      if (!name) return;
      for (const value of values.length === 0 ? [undefined] : values) {
        this.#note(textOf(tree, name), { value, append: false }, node);
      }
    } else if (node.type === 'command') {
      const name = childOf(node, 'name');
      if (name) this.#collectCommand(textOf(tree, name), childrenOf(node, 'argument'), node);
    } else if (node.type === 'expansion') {
      // ${NAME:=value} sets it.
      const [, name] = /^\$\{(\w+)(?:\[[^\]]*\])?:?=/.exec(textOf(tree, node)) ?? [];
      const [, value, ...more] = namedChildren(node);
      if (name !== undefined && isCommanding(name))
        this.#note(name, { value: more.length === 0 ? value : undefined, append: false }, node);
    } else if (node.type === 'declaration_command') {
      for (const child of node.children)
        if (child.type !== 'variable_assignment' && child.type !== 'variable_name' && child.named)
          this.#declared.push(child);
      this.#collectReferences(node);
    }
  }

  /** `declare -n a=B`: from then on whatever sets a sets B. */
  #collectReferences(node: SyntaxNode): void {
    const { tree } = this.#piece;
    if (!node.children.some((child) => child.type === 'word' && /^-\w*n/.test(textOf(tree, child)))) return;
    for (const child of node.children) {
      const value = child.type === 'variable_assignment' ? childOf(child, 'value') : undefined;
      if (value) this.#noteUnknown(textOf(tree, value), node);
    }
  }

  /** What is set is the variable that the word names. */
  #noteUnknown(word: string, at: SyntaxNode): void {
    this.#note(unquoted(word), { value: undefined, append: false }, at);
  }

  #collectCommand(name: string, args: readonly SyntaxNode[], at: SyntaxNode): void {
    const { tree } = this.#piece;
    switch (name) {
      case 'read':
      case 'mapfile':
      case 'readarray':
      case 'getopts':
        for (const word of args) this.#noteUnknown(textOf(tree, word), at);
        return;
      case 'printf': {
        const [option = '', word = ''] = args.map((arg) => textOf(tree, arg));
        const [, glued] = /^["']?-v(.*)$/.exec(option) ?? [];
        if (glued !== undefined) this.#noteUnknown(unquoted(glued) || word, at);
        return;
      }
      case 'set': {
        const first = args.findIndex((word, index) => {
          const isValue = /^[-+]\w*o$/.test(textOf(tree, args[index - 1] ?? at));
          return !isValue && !/^[-+]\w+$/.test(textOf(tree, word));
        });
        if (first >= 0)
          this.#sets.push(args.slice(/^--?$/.test(textOf(tree, args[first] ?? at)) ? first + 1 : first));
        return;
      }
      case 'shift':
      case 'eval':
      case 'source':
      case '.':
      case 'builtin':
      case 'command':
        this.#moves = true;
    }
  }

  #note(name: string, assignment: Assignment, at: SyntaxNode): void {
    const noted = this.#assignments.get(name);
    if (noted) noted.push(assignment);
    else this.#assignments.set(name, [assignment]);
    if (isCommanding(name)) this.#settings.push({ name, at });
  }

  /** Where variables are set that decide what other programs load or run; all must have been collected. */
  settings(): readonly Setting[] {
    return [
      ...this.#settings.map(({ name, at }) => ({
        at,
        texts: this.#assigned(this.#assignments.get(name) ?? []).map((value) => `${name}=${value}`),
      })),
      ...this.#declared.map((at) => ({ at, texts: this.split(at) })),
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

  /** The node as one text; of several choices the first. */
  expand(node: SyntaxNode): string {
    return (this.#choices(node, true)[0] ?? hole).replaceAll(gap, ' ');
  }

  #choices(node: SyntaxNode, quoted: boolean): readonly string[] {
    if (!this.#piece.spend() || this.#depth > maxDepth) return [hole];
    this.#depth += 1;
    try {
      const all = this.#read(node, quoted);
      return all.length > maxChoices ? all.slice(0, maxChoices) : all;
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
        return [node.children.length > 0 ? (this.#parts(node, quoted)[0] ?? hole) : unescaped(text)];
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
        return this.#spread(this.#variable(text.slice(1)), quoted);
      case 'expansion':
        return this.#spread(this.#expansion(node), quoted);
      case 'command_substitution':
        return this.#spread([this.#printed(node)], quoted);
      case 'process_substitution':
        return [substitutedPath];
      case 'arithmetic_expansion':
        return ['1'];
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
      const longer: string[] = [];
      for (const choice of choices) {
        for (const one of more) if (longer.length < maxChoices) longer.push(bounded(choice + one));
      }
      choices = longer;
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

  /** Unquoted, what comes of an expansion falls apart at blanks. */
  #spread(values: readonly string[], quoted: boolean): readonly string[] {
    return quoted ? values : values.map((value) => value.replace(/[ \t\n]+/g, gap));
  }

  #printed(node: SyntaxNode): string {
    const stream = this.#outputOf(node);
    if (stream.kind === 'download') return downloadedHole;
    return stream.kind === 'text' ? stream.text.replace(/\n+$/, '') : hole;
  }

  #expansion(node: SyntaxNode): readonly string[] {
    return expandParameter(this.#piece.tree, node, {
      variable: (name) => this.#variable(name),
      expand: (inner) => this.expand(inner),
    });
  }

  #variable(name: string): readonly string[] {
    const special = specialVariables[name];
    if (special !== undefined) return [special];
    if (name === '@' || name === '*') return this.#parameters((list) => list.join(gap));
    if (/^\d+$/.test(name)) return this.#parameters((list) => list[Number(name) - 1] ?? hole);
    const known = this.#values.get(name);
    if (known) return known;
    const assignments = this.#assignments.get(name);
    if (!assignments || this.#open.has(name)) return [hole];
    this.#open.add(name);
    const values = this.#assigned(assignments);
    this.#open.delete(name);
    this.#values.set(name, values);
    return values;
  }

  /** Of the positional parameters as they were given and as they are set; what else they can be nobody knows. */
  #parameters(pick: (list: readonly string[]) => string): readonly string[] {
    const lists = [this.#positional ?? []];
    if (this.#sets.length > 0 && !this.#open.has('@')) {
      this.#open.add('@');
      for (const words of this.#sets.slice(0, maxChoices))
        lists.push(words.flatMap((word) => this.split(word)));
      this.#open.delete('@');
    }
    const known = lists.map(pick);
    return this.#positional && !this.#moves ? known : [...known, hole];
  }

  #assigned(assignments: readonly Assignment[]): readonly string[] {
    let values: readonly string[] = [];
    for (const { value, append } of assignments) {
      const more = value ? this.#choices(value, true) : [hole];
      const before = values.length === 0 ? [hole] : values;
      values = append
        ? before.flatMap((one) => more.map((other) => bounded(one + other)))
        : [...values, ...more];
      values = [...new Set(values)].slice(0, maxChoices);
    }
    return values;
  }
}

/** A word without its backslashes. */
function unescaped(text: string): string {
  return text.includes('\\') ? text.replace(/\\\n/g, '').replace(/\\([\s\S])/g, '$1') : text;
}

function unquoted(word: string): string {
  return word.replace(/["'\\]/g, '');
}

function bounded(text: string): string {
  return text.length > maxText ? hole : text;
}

const specialVariables: Partial<Record<string, string>> = Object.assign(Object.create(null) as object, {
  IFS: ' ',
  HOME: '~',
  PATH: '/usr/bin:/bin',
  PWD: '.',
  TMPDIR: '/tmp',
  '?': '0',
  '#': '0',
  $: '1',
  '!': '%!',
  _: '',
  '-': '',
});
