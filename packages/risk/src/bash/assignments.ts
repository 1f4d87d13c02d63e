import { isCommanding } from '../commands/environment.js';
import {
  childOf,
  childrenOf,
  namedChildren,
  textOf,
  type SyntaxNode,
  type SyntaxTree,
} from '../syntax/node.js';
import { unescape } from '../values/escapes.js';

/** One way in which a variable gets its value; none where nobody knows it. */
export interface Assignment {
  readonly value: SyntaxNode | undefined;
  readonly append: boolean;
  /** Each of the words that come of it is a value, as in a loop. */
  readonly each?: boolean;
  /** `NAME=` */
  readonly empty?: boolean;
}

/** All that a script sets anywhere; the order of things is left out, so that moving a line hides nothing. */
export class Assignments {
  readonly #tree: SyntaxTree;
  readonly #byName = new Map<string, Assignment[]>();
  /** Where variables are set that decide what other programs load or run. */
  readonly settings: { readonly name: string; readonly at: SyntaxNode }[] = [];
  /** Words that are exported or declared as a text, such as "A=$b". */
  readonly declared: SyntaxNode[] = [];
  /** Arrays of which single items are set: which others they have, and in which order, nobody knows. */
  readonly scattered = new Set<string>();
  /** What `set` makes the positional parameters be. */
  readonly sets: (readonly SyntaxNode[])[] = [];
  /** Whether there is what changes them in ways that are not followed. */
  moves = false;
  /** Names that are in a text which runs as code of this shell, and whether such a text can set any. */
  readonly #named = new Set<string>();
  #setsAny = false;

  constructor(tree: SyntaxTree) {
    this.#tree = tree;
  }

  of(name: string): readonly Assignment[] {
    return this.#byName.get(bareName(name)) ?? [];
  }

  /** Whether a variable of this name may also be set by what is not followed. */
  isOpen(name: string): boolean {
    return this.#setsAny || this.#named.has(name);
  }

  /** Takes note of what the node sets. */
  collect(node: SyntaxNode): void {
    const tree = this.#tree;
    if (node.type === 'variable_assignment') {
      const name = childOf(node, 'name');
      const append = node.children.some((child) => child.type === '+=');
      const empty = textOf(tree, node).endsWith('=');
      if (name) this.#note(textOf(tree, name), { value: childOf(node, 'value'), append, empty }, node);
      if (name?.type === 'subscript') this.scattered.add(bareName(textOf(tree, name)));
    } else if (node.type === 'for_statement') {
      const name = childOf(node, 'variable');
      const values = childrenOf(node, 'value');
      if (!name) return;
      for (const value of values.length === 0 ? [undefined] : values) {
        this.#note(textOf(tree, name), { value, append: false, each: true }, node);
      }
    } else if (node.type === 'command') {
      const name = childOf(node, 'name');
      if (name) this.#collectCommand(unquoted(textOf(tree, name)), childrenOf(node, 'argument'), node);
    } else if (node.type === 'expansion') {
      // ${NAME:=value} sets it.
      const [, name] = /^\$\{(\w+)(?:\[[^\]]*\])?:?=/.exec(textOf(tree, node)) ?? [];
      const [, value, ...more] = namedChildren(node);
      if (name !== undefined)
        this.#note(name, { value: more.length === 0 ? value : undefined, append: false }, node);
    } else if (node.type === 'declaration_command') {
      for (const child of node.children)
        if (child.type !== 'variable_assignment' && child.type !== 'variable_name' && child.named)
          this.declared.push(child);
      this.#collectReferences(node);
    }
  }

  /** `declare -n a=B`: from then on whatever sets a sets B, and a is what B is. */
  #collectReferences(node: SyntaxNode): void {
    const tree = this.#tree;
    const isReference = (child: SyntaxNode) =>
      child.type !== 'variable_assignment' &&
      /^["']?-\w*n|^["']?-.*[$`"'\\]|^["']?[$`]/.test(textOf(tree, child));
    // `declare $name=…`
    for (const child of node.children)
      if (child.named && /^["']?[$`]/.test(textOf(tree, child))) this.#setsAny = true;
    if (!node.children.some((child) => child.named && isReference(child))) return;
    for (const child of node.children) {
      const value = child.type === 'variable_assignment' ? childOf(child, 'value') : undefined;
      const name = childOf(child, 'name');
      if (name) this.#noteUnknown(textOf(tree, name), node);
      if (value) this.#noteUnknown(textOf(tree, value), node);
    }
  }

  /** What is set is the variable that the word names. */
  #noteUnknown(word: string, at: SyntaxNode): void {
    const literal = literalOf(word);
    if (literal === undefined && /^["']?[$`]/.test(word)) this.#setsAny = true;
    this.#note(unquoted(literal ?? word), { value: undefined, append: false }, at);
  }

  /** A text that runs as code of this shell can set whatever it names. */
  #collectCode(words: readonly SyntaxNode[]): void {
    for (const word of words) {
      const source = textOf(this.#tree, word);
      const literal = literalOf(source);
      const text = unquoted(literal ?? source);
      if (/[$`]/.test(text) && (literal === undefined || setting.test(text))) this.#setsAny = true;
      for (const [name] of text.matchAll(/[A-Za-z_]\w*/g)) this.#named.add(name);
    }
  }

  #collectCommand(name: string, args: readonly SyntaxNode[], at: SyntaxNode): void {
    const tree = this.#tree;
    switch (name) {
      case 'read':
      case 'mapfile':
      case 'readarray':
      case 'getopts':
        for (const word of args) this.#noteUnknown(textOf(tree, word), at);
        for (const own of ['REPLY', 'MAPFILE', 'OPTARG']) this.#noteUnknown(own, at);
        if (name !== 'read') this.#collectCode(args);
        return;
      case 'export':
      case 'declare':
      case 'typeset':
      case 'local':
      case 'readonly':
        for (const word of args) this.#noteUnknown(textOf(tree, word).replace(/\+?=[^]*$/, ''), at);
        return;
      case 'trap':
      case 'alias':
        this.#collectCode(args);
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
          this.sets.push(args.slice(/^--?$/.test(textOf(tree, args[first] ?? at)) ? first + 1 : first));
        return;
      }
      case 'shift':
        this.moves = true;
        return;
      case 'eval':
        this.moves = true;
        this.#collectCode(args);
        return;
      case 'source':
      case '.':
        this.moves = true;
        this.#setsAny = true;
        return;
      case 'builtin':
      case 'command': {
        const first = args.findIndex((word) => !textOf(tree, word).startsWith('-'));
        const inner = args[first];
        this.moves = true;
        if (inner) this.#collectCommand(unquoted(textOf(tree, inner)), args.slice(first + 1), at);
      }
    }
  }

  #note(name: string, assignment: Assignment, at: SyntaxNode): void {
    const bare = bareName(name);
    const noted = this.#byName.get(bare);
    if (noted) noted.push(assignment);
    else this.#byName.set(bare, [assignment]);
    if (isCommanding(name)) this.settings.push({ name, at });
  }
}

/** Where code can set a variable whose name it does not hold: by what sets variables, or what nobody knows. */
const setting =
  /\b(read|mapfile|readarray|getopts|eval|source|declare|typeset|local|export|readonly|printf|let|builtin|command|trap|alias)\b|(^|[;&|(){\n`!]|\b(then|do|else|elif|if|while|until|time)\s)\s*(\w+=\S*\s+)*([$`]|\.\s)/;

/** What stands in quotes that leave it as it is: `'…'` and `$'…'`. */
function literalOf(word: string): string | undefined {
  const [, ansi] = /^\$'((?:[^'\\]|\\[^])*)'$/.exec(word) ?? [];
  return ansi === undefined ? /^'([^']*)'$/.exec(word)?.[1] : unescape(ansi);
}

/** `NAME[0]` is NAME as well. */
function bareName(name: string): string {
  const end = name.indexOf('[');
  return end < 0 ? name : name.slice(0, end);
}

/** A word as it would be without its quotes. */
export function unquoted(word: string): string {
  return word.replace(/["'\\]/g, '');
}
