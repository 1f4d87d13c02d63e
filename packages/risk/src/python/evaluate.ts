import type { Piece } from '../piece.js';
import { childOf, childrenOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { combinations, told } from '../values/choices.js';
import { listOf, put, tableOf } from '../values/collect.js';
import { unescape } from '../values/escapes.js';
import { derived, literal, reference, unknown, type Value } from '../values/value.js';
import { argumentsFrom, type Argument, type Arguments } from './arguments.js';
import { nameIn, type Binding, type Names } from './bindings.js';
import { canonical } from './canonical.js';
import { builtinNames, capabilities } from './known-names.js';
import { binary, itemsOf, keyOf, sliced, textValue } from './operators.js';
import { entryOf, resultOf } from './results.js';

const maxDepth = 60;
const maxBindings = 64;
/** Of arguments and items, those that are more than one value. */
const notPlain = new Set(['keyword_argument', 'list_splat', 'dictionary_splat']);
const noNames: ReadonlyMap<string, Value> = new Map();

/** What an expression may be. Several values where a name has several; `unknown` where nobody can tell. */
export class Evaluator {
  readonly #piece: Piece;
  readonly #names: Names;
  /** By the ids of their nodes. */
  readonly #known: (readonly Value[] | undefined)[];
  readonly #openNodes: Uint8Array;
  readonly #openNames = new Set<string>();
  readonly #byName = new Map<string, readonly Value[]>();
  readonly #given = new Map<number, readonly Arguments[]>();
  /** How many of both are open. */
  #depth = 0;
  readonly #loops = new Map<string, Value>();
  /** How often the name of a loop was asked for: what was worked out without it is the same for each item. */
  #loopReads = 0;
  #steady = new Map<number, readonly Value[]>();

  constructor(piece: Piece, names: Names) {
    this.#piece = piece;
    this.#names = names;
    this.#known = new Array<undefined>(piece.tree.size);
    this.#openNodes = new Uint8Array(piece.tree.size);
  }

  evaluate(node: SyntaxNode | undefined): readonly Value[] {
    if (!node) return [unknown];
    const looping = this.#loops.size > 0;
    const known = looping ? this.#steady.get(node.id) : this.#known[node.id];
    if (known) return known;
    if (this.#openNodes[node.id] === 1 || this.#depth > maxDepth || !this.#piece.spend()) return [unknown];
    const readsBefore = this.#loopReads;
    this.#openNodes[node.id] = 1;
    this.#depth += 1;
    try {
      const values = told(this.#read(node));
      if (!looping) this.#known[node.id] = values;
      else if (this.#loopReads === readsBefore) this.#steady.set(node.id, values);
      return values;
    } finally {
      this.#openNodes[node.id] = 0;
      this.#depth -= 1;
    }
  }

  /**
   * Of each way that a call can be made. Asked for when it is looked at, and again for what it gives; by then all of them
   * are known.
   */
  argumentsOf(call: SyntaxNode): readonly Arguments[] {
    if (this.#loops.size > 0) return this.#argumentsOf(call);
    const given = this.#given.get(call.id) ?? this.#argumentsOf(call);
    if (this.#depth === 0) this.#given.set(call.id, given);
    return given;
  }

  #argumentsOf(call: SyntaxNode): readonly Arguments[] {
    const list = childOf(call, 'arguments');
    const nodes = list?.type === 'generator_expression' ? [list] : namedChildren(list);
    return this.#gathered(nodes);
  }

  /** What stands in a list or between the brackets of a call, in each way that it can be. */
  #gathered(nodes: readonly SyntaxNode[]): readonly Arguments[] {
    if (nodes.some(({ type }) => notPlain.has(type))) {
      const given = nodes.map((node) => this.#argument(node));
      return combinations<Argument>(given, { positional: [unknown] }).map(argumentsFrom);
    }
    const given = nodes.map((node) => this.evaluate(node));
    return combinations(given, unknown).map((positional) => ({ positional, named: noNames }));
  }

  #argument(node: SyntaxNode): readonly Argument[] {
    switch (node.type) {
      case 'keyword_argument': {
        const name = childOf(node, 'name');
        const key = name ? nameIn(this.#piece.tree, name) : '';
        return this.evaluate(childOf(node, 'value')).map((value) => ({ named: new Map([[key, value]]) }));
      }
      case 'list_splat':
        return this.evaluate(namedChildren(node)[0]).map((items) => ({
          positional: items.kind === 'list' ? items.items : [unknown],
        }));
      case 'dictionary_splat':
        return this.evaluate(namedChildren(node)[0]).map((table) => ({
          named: new Map(
            table.kind === 'table'
              ? Array.from(table.entries, ([name, [value = unknown]]): [string, Value] => [name, value])
              : [],
          ),
        }));
      default:
        return this.evaluate(node).map((value) => ({ positional: [value] }));
    }
  }

  /** Inside of other names a name may be cut short: what it is by itself is kept. */
  #identified(name: string): readonly Value[] {
    if (this.#depth > 1 || this.#loops.size > 0) return this.named(name);
    const values = this.#byName.get(name) ?? this.named(name);
    this.#byName.set(name, values);
    return values;
  }

  /** The value of a name, as an identifier or as a key of globals(). */
  named(name: string, hidden = false): readonly Value[] {
    const looped = this.#loops.get(name);
    if (looped) {
      this.#loopReads += 1;
      return [looped];
    }
    const values: Value[] = [];
    const bindings = this.#names.bound.get(name) ?? [];
    if (bindings.length > 0 && !this.#openNames.has(name)) {
      this.#openNames.add(name);
      this.#depth += 1;
      try {
        values.push(...this.#bound(bindings));
      } finally {
        this.#openNames.delete(name);
        this.#depth -= 1;
      }
    }
    if (name === '__builtins__' || name === '__builtin__') values.push(reference('builtins', true));
    else if (builtinNames.has(name)) values.push(reference(`builtins.${name}`, hidden));
    if (values.length === 0) {
      for (const star of this.#names.stars) {
        if (capabilities.has(canonical(`${star}.${name}`)))
          values.push(reference(canonical(`${star}.${name}`), hidden));
      }
    }
    // What a module was given as an attribute, builtins or globalThis, is a name of nobody.
    if (values.length === 0 && this.#names.attributes.has(name))
      values.push(...this.named(`.${name}`, hidden));
    if (name === '__file__') values.push(literal('./main.py'));
    if (name === '__name__') values.push(literal('__main__'));
    if (values.length === 0) return [unknown];
    return hidden
      ? values.map((value) => (value.kind === 'reference' ? { ...value, hidden } : value))
      : values;
  }

  #bound(bindings: readonly Binding[]): readonly Value[] {
    const [only] = bindings;
    if (only && only.kind !== 'append' && bindings.length === 1) return told(this.#boundTo(only));
    let values: readonly Value[] = [];
    /** What was there before something was added to it. */
    const before: Value[] = [];
    for (const binding of bindings.slice(0, maxBindings)) {
      if (binding.kind === 'append') {
        before.push(...values);
        const more = this.evaluate(binding.node);
        const longer = combinations([values, more], unknown).map(([left = unknown, right = unknown]) =>
          binary('+', left, right),
        );
        values = told(longer);
      } else values = told([...values, ...this.#boundTo(binding)]);
    }
    return told([...values, ...before, ...(bindings.length > maxBindings ? [unknown] : [])]);
  }

  #boundTo(binding: Exclude<Binding, { kind: 'append' }>): readonly Value[] {
    switch (binding.kind) {
      case 'expression':
        return this.evaluate(binding.node);
      case 'element': {
        const { index } = binding;
        return this.evaluate(binding.node).flatMap((value): readonly Value[] => {
          if (value.kind !== 'list') return [unknown];
          return index === undefined ? told(value.items) : [value.items[index] ?? unknown];
        });
      }
      case 'module':
        return [reference(canonical(binding.path))];
      case 'unknown':
        return [unknown];
    }
  }

  #read(node: SyntaxNode): readonly Value[] {
    const { tree } = this.#piece;
    switch (node.type) {
      case 'identifier':
        return this.#identified(nameIn(tree, node));
      case 'string':
        return this.#string(node);
      case 'concatenated_string': {
        const parts = namedChildren(node).map((part) => this.evaluate(part));
        return combinations(parts, unknown).map((way) =>
          derived(way.map(textValue).join(''), way, 'assembled'),
        );
      }
      case 'integer':
        return [{ kind: 'number', number: Number(textOf(tree, node).replaceAll('_', '')) }];
      case 'true':
      case 'false':
        return [{ kind: 'number', number: node.type === 'true' ? 1 : 0, isBoolean: true }];
      case 'parenthesized_expression':
      case 'await':
      case 'type':
      case 'expression_statement':
        return this.evaluate(namedChildren(node)[0]);
      case 'assignment':
        return this.evaluate(childOf(node, 'right'));
      case 'named_expression':
        return this.evaluate(childOf(node, 'value'));
      case 'conditional_expression': {
        const [then, , otherwise] = namedChildren(node);
        return [...this.evaluate(then), ...this.evaluate(otherwise)];
      }
      case 'boolean_operator':
        return [...this.evaluate(childOf(node, 'left')), ...this.evaluate(childOf(node, 'right'))];
      case 'list':
      case 'tuple':
      case 'set':
      case 'expression_list':
        return this.#gathered(namedChildren(node)).map(({ positional }) => listOf(positional));
      case 'dictionary':
        return [this.#dictionary(node)];
      case 'list_comprehension':
      case 'generator_expression':
        return this.#comprehension(node);
      case 'binary_operator':
        return this.#combined(node);
      case 'unary_operator': {
        const isMinus = childOf(node, 'operator')?.type === '-';
        return this.evaluate(childOf(node, 'argument')).map((value) =>
          isMinus && value.kind === 'number' ? { kind: 'number', number: -value.number } : unknown,
        );
      }
      case 'attribute':
        return this.#attribute(node);
      case 'subscript':
        return this.#subscript(node);
      case 'call':
        return this.#call(node);
      default:
        return [unknown];
    }
  }

  #combined(node: SyntaxNode): readonly Value[] {
    const operator = childOf(node, 'operator')?.type ?? '';
    const sides = [this.evaluate(childOf(node, 'left')), this.evaluate(childOf(node, 'right'))];
    return combinations(sides, unknown).map(([left = unknown, right = unknown]) =>
      binary(operator, left, right),
    );
  }

  #string(node: SyntaxNode): readonly Value[] {
    const { tree } = this.#piece;
    let raw = false;
    let text = '';
    /** Before each of what is filled in; the text behind the last is `text`. */
    const parts: (readonly Value[])[] = [];
    for (const child of node.children) {
      if (child.type === 'string_start') raw = child.end - child.start > 1 && /r/i.test(textOf(tree, child));
      else if (child.type === 'string_content')
        text += raw ? textOf(tree, child) : unescape(textOf(tree, child));
      else if (child.type === 'escape_interpolation') text += textOf(tree, child).slice(0, 1);
      else if (child.type === 'interpolation') {
        // Cut, padded or quoted it is not known.
        const isPlain = child.children.every(
          ({ type }) => type !== 'format_specifier' && type !== 'type_conversion',
        );
        parts.push([literal(text)], isPlain ? this.evaluate(childOf(child, 'expression')) : [unknown]);
        text = '';
      }
    }
    if (parts.length === 0) {
      // Escapes such as \x6f hide a word from whoever searches for it.
      const escaped = !raw && /\\[xuUN0-7]/.test(textOf(tree, node));
      return [escaped ? derived(text, [], 'assembled') : literal(text)];
    }
    return combinations(parts, unknown).map((way) =>
      derived(way.map(textValue).join('') + text, [], 'assembled'),
    );
  }

  #dictionary(node: SyntaxNode): Value {
    const entries = new Map<string, readonly Value[]>();
    const spreads: Value[] = [];
    for (const pair of namedChildren(node)) {
      if (pair.type === 'dictionary_splat') {
        spreads.push(...this.evaluate(namedChildren(pair)[0]));
        continue;
      }
      const values = this.evaluate(childOf(pair, 'value'));
      // What has a key that is not known is found by none, and is one of all.
      for (const key of this.evaluate(childOf(pair, 'key'))) put(entries, keyOf(key), values);
    }
    return tableOf(entries, spreads, () => this.spend());
  }

  /** Whether the program has a function of this name. */
  defines(name: string): boolean {
    return this.#names.bound.get(name)?.some(({ kind }) => kind === 'unknown') ?? false;
  }

  spend(): boolean {
    return this.#piece.spend();
  }

  /** One loop over known items is followed; that is how names are made of numbers. */
  #comprehension(node: SyntaxNode): readonly Value[] {
    const clauses = node.children.filter((child) => child.type === 'for_in_clause');
    const [clause] = clauses;
    const target = childOf(clause, 'left');
    const isFiltered = node.children.some((child) => child.type === 'if_clause');
    if (!clause || clauses.length > 1 || isFiltered || target?.type !== 'identifier') return [unknown];
    const name = nameIn(this.#piece.tree, target);
    return this.evaluate(childOf(clause, 'right')).flatMap((items): readonly Value[] => {
      const values = itemsOf(items);
      if (!values || values.length > 2048 || this.#loops.size > 2) return [unknown];
      return this.#looped(name, values, childOf(node, 'body'));
    });
  }

  #looped(name: string, values: readonly Value[], body: SyntaxNode | undefined): readonly Value[] {
    const results: (readonly Value[])[] = [];
    const steady = this.#steady;
    this.#steady = new Map();
    for (const value of values) {
      this.#loops.set(name, value);
      results.push(this.evaluate(body));
    }
    this.#loops.delete(name);
    this.#steady = steady;
    return combinations(results, unknown).map((items) => ({ kind: 'list', items }));
  }

  #attribute(node: SyntaxNode): readonly Value[] {
    const attribute = childOf(node, 'attribute');
    if (!attribute) return [unknown];
    const name = nameIn(this.#piece.tree, attribute);
    const objects = this.evaluate(childOf(node, 'object'));
    const members = objects.map((object) => this.member(object, name, false));
    // What some object was given under that name, any object may have.
    if (!this.#names.attributes.has(name) || objects.every(({ kind }) => kind === 'text')) return members;
    return [...members, ...this.#identified(`.${name}`).filter(({ kind }) => kind !== 'unknown')];
  }

  member(object: Value, name: string, hidden: boolean): Value {
    if (object.kind === 'reference') {
      const plain = `${object.path}.${name}`;
      const path = canonical(plain);
      return reference(path, object.hidden || hidden || path !== plain, object.subject);
    }
    return reference(`?.${name}`, hidden, object);
  }

  #subscript(node: SyntaxNode): readonly Value[] {
    const [key] = childrenOf(node, 'subscript');
    const objects = this.evaluate(childOf(node, 'value'));
    if (key?.type === 'slice') return objects.map((object) => sliced(object, this.#bounds(key)));
    const sides = [objects, this.evaluate(key)];
    return combinations(sides, unknown).flatMap(([object = unknown, index = unknown]) =>
      entryOf(this, object, index),
    );
  }

  #bounds(slice: SyntaxNode): readonly (number | undefined)[] {
    const bounds: (number | undefined)[] = [undefined, undefined, undefined];
    let at = 0;
    for (const child of slice.children) {
      if (child.type === ':') at += 1;
      else if (child.named) {
        const [value, ...others] = this.evaluate(child);
        bounds[at] = value?.kind === 'number' && others.length === 0 ? value.number : Number.NaN;
      }
    }
    return bounds;
  }

  #call(node: SyntaxNode): readonly Value[] {
    const ways = this.argumentsOf(node);
    return this.evaluate(childOf(node, 'function')).flatMap((target) =>
      ways.flatMap((given) => resultOf(this, target, given)),
    );
  }
}
