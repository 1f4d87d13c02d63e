import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import { childOf, childrenOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { unescape } from '../values/escapes.js';
import {
  derived,
  literal,
  maxItems,
  reference,
  unknown,
  type Reference,
  type Value,
} from '../values/value.js';
import type { Arguments } from './arguments.js';
import { nameIn, type Binding, type Names } from './bindings.js';
import { canonical } from './canonical.js';
import { foldCall, foldMethod, namesOf } from './fold-calls.js';
import { builtinNames, capabilities } from './known-names.js';
import { binary, indexed, sliced, textValue } from './operators.js';

const maxDepth = 60;
const maxChoices = 6;

/** What an expression may be. Several values where a name has several; `unknown` where nobody can tell. */
export class Evaluator {
  readonly #piece: Piece;
  readonly #names: Names;
  /** By the ids of their nodes. */
  readonly #known: (readonly Value[] | undefined)[];
  readonly #openNodes: Uint8Array;
  readonly #openNames = new Set<string>();
  readonly #byName = new Map<string, readonly Value[]>();
  readonly #given = new Map<number, Arguments>();
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
      const all = this.#read(node);
      const values = all.length > maxChoices ? all.slice(0, maxChoices) : all;
      if (!looping) this.#known[node.id] = values;
      else if (this.#loopReads === readsBefore) this.#steady.set(node.id, values);
      return values;
    } finally {
      this.#openNodes[node.id] = 0;
      this.#depth -= 1;
    }
  }

  /** Asked for when a call is looked at, and again for what it gives; by then all of them are known. */
  argumentsOf(call: SyntaxNode): Arguments {
    if (this.#loops.size > 0) return this.#argumentsOf(call);
    const given = this.#given.get(call.id) ?? this.#argumentsOf(call);
    if (this.#depth === 0) this.#given.set(call.id, given);
    return given;
  }

  #argumentsOf(call: SyntaxNode): Arguments {
    const list = childOf(call, 'arguments');
    const nodes = list?.type === 'generator_expression' ? [list] : namedChildren(list);
    const positional: (readonly Value[])[] = [];
    const named = new Map<string, readonly Value[]>();
    for (const node of nodes) {
      if (node.type === 'keyword_argument') {
        const name = childOf(node, 'name');
        if (name) named.set(nameIn(this.#piece.tree, name), this.evaluate(childOf(node, 'value')));
      } else if (node.type === 'list_splat') {
        const [items] = this.evaluate(namedChildren(node)[0]);
        if (items?.kind === 'list') positional.push(...items.items.map((item) => [item]));
        else positional.push([unknown]);
      } else if (node.type !== 'dictionary_splat') positional.push(this.evaluate(node));
    }
    return { positional, named };
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
    if (name === '__file__') values.push(literal('./main.py'));
    if (name === '__name__') values.push(literal('__main__'));
    if (values.length === 0) return [unknown];
    return hidden
      ? values.map((value) => (value.kind === 'reference' ? { ...value, hidden } : value))
      : values;
  }

  #bound(bindings: readonly Binding[]): readonly Value[] {
    let values: Value[] = [];
    for (const binding of bindings.slice(0, 32)) {
      // No more are kept, and what comes changes the last one at most.
      if (values.length > maxChoices) break;
      switch (binding.kind) {
        case 'expression':
          values.push(...this.evaluate(binding.node));
          break;
        case 'element':
          for (const value of this.evaluate(binding.node)) {
            if (value.kind === 'list') {
              const { index } = binding;
              values.push(
                ...(index === undefined ? value.items.slice(0, maxChoices) : [value.items[index] ?? unknown]),
              );
            } else values.push(unknown);
          }
          break;
        case 'append': {
          const more = this.evaluate(binding.node)[0] ?? unknown;
          const last = values.pop() ?? unknown;
          values = [...values, binary('+', last, more)];
          break;
        }
        case 'module':
          values.push(reference(canonical(binding.path)));
          break;
        case 'unknown':
          values.push(unknown);
      }
    }
    return values;
  }

  #read(node: SyntaxNode): readonly Value[] {
    const { tree } = this.#piece;
    switch (node.type) {
      case 'identifier':
        return this.#identified(nameIn(tree, node));
      case 'string':
        return [this.#string(node)];
      case 'concatenated_string': {
        const parts = namedChildren(node).map((part) => this.evaluate(part)[0] ?? unknown);
        return [derived(parts.map(textValue).join(''), parts, 'assembled')];
      }
      case 'integer':
        return [{ kind: 'number', number: Number(textOf(tree, node).replaceAll('_', '')) }];
      case 'parenthesized_expression':
      case 'await':
      case 'type':
      case 'expression_statement':
        return this.evaluate(namedChildren(node)[0]);
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
        return [
          {
            kind: 'list',
            items: namedChildren(node)
              .slice(0, maxItems)
              .map((item) => this.evaluate(item)[0] ?? unknown),
          },
        ];
      case 'dictionary':
        return [this.#dictionary(node)];
      case 'list_comprehension':
      case 'generator_expression':
        return [this.#comprehension(node)];
      case 'binary_operator':
        return this.#combined(node);
      case 'unary_operator': {
        const [value] = this.evaluate(childOf(node, 'argument'));
        return [
          value?.kind === 'number' && childOf(node, 'operator')?.type === '-'
            ? { kind: 'number', number: -value.number }
            : unknown,
        ];
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
    const rights = this.evaluate(childOf(node, 'right'));
    const results: Value[] = [];
    for (const left of this.evaluate(childOf(node, 'left')))
      for (const right of rights) results.push(binary(operator, left, right));
    return results;
  }

  #string(node: SyntaxNode): Value {
    const { tree } = this.#piece;
    const start = node.children.find((child) => child.type === 'string_start');
    const raw = start ? /r/i.test(textOf(tree, start)) : false;
    let text = '';
    let filled = false;
    for (const child of node.children) {
      if (child.type === 'string_content') text += raw ? textOf(tree, child) : unescape(textOf(tree, child));
      else if (child.type === 'interpolation') {
        filled = true;
        text += textValue(this.evaluate(childOf(child, 'expression'))[0] ?? unknown);
      } else if (child.type === 'escape_interpolation') text += textOf(tree, child).slice(0, 1);
    }
    // Escapes such as \x6f hide a word from whoever searches for it.
    const escaped = !raw && /\\[xuUN0-7]/.test(textOf(tree, node));
    return filled || escaped ? derived(text, [], 'assembled') : literal(text);
  }

  #dictionary(node: SyntaxNode): Value {
    const entries = new Map<string, readonly Value[]>();
    for (const pair of namedChildren(node).slice(0, maxItems)) {
      const [key] = this.evaluate(childOf(pair, 'key'));
      if (key?.kind === 'text') entries.set(key.text, this.evaluate(childOf(pair, 'value')));
      else if (key?.kind === 'number') entries.set(String(key.number), this.evaluate(childOf(pair, 'value')));
    }
    return { kind: 'table', entries };
  }

  /** One loop over known items is followed; that is how names are made of numbers. */
  #comprehension(node: SyntaxNode): Value {
    const clauses = node.children.filter((child) => child.type === 'for_in_clause');
    const [clause] = clauses;
    const target = childOf(clause, 'left');
    const [items] = this.evaluate(childOf(clause, 'right'));
    const isFiltered = node.children.some((child) => child.type === 'if_clause');
    if (!clause || clauses.length > 1 || isFiltered || target?.type !== 'identifier' || !items)
      return unknown;
    const values =
      items.kind === 'text'
        ? Array.from(items.text).map(literal)
        : items.kind === 'list'
          ? items.items
          : undefined;
    if (!values || values.length > 2048 || this.#loops.size > 2) return unknown;
    const name = nameIn(this.#piece.tree, target);
    const body = childOf(node, 'body');
    const results: Value[] = [];
    const steady = this.#steady;
    this.#steady = new Map();
    for (const value of values) {
      this.#loops.set(name, value);
      results.push(this.evaluate(body)[0] ?? unknown);
    }
    this.#loops.delete(name);
    this.#steady = steady;
    return { kind: 'list', items: results };
  }

  #attribute(node: SyntaxNode): readonly Value[] {
    const attribute = childOf(node, 'attribute');
    if (!attribute) return [unknown];
    const name = nameIn(this.#piece.tree, attribute);
    return this.evaluate(childOf(node, 'object')).map((object) => this.member(object, name, false));
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
    const [index = unknown] = this.evaluate(key);
    return objects.flatMap((object): readonly Value[] => {
      if (object.kind === 'table')
        return (
          (index.kind === 'text' && object.entries.get(index.text)) ||
          [...object.entries.values()].flat().slice(0, maxChoices)
        );
      if (object.kind === 'reference') return this.#entry(object, index);
      return [indexed(object, index)];
    });
  }

  #bounds(slice: SyntaxNode): readonly (number | undefined)[] {
    const bounds: (number | undefined)[] = [undefined, undefined, undefined];
    let at = 0;
    for (const child of slice.children) {
      if (child.type === ':') at += 1;
      else if (child.named) {
        const [value] = this.evaluate(child);
        bounds[at] = value?.kind === 'number' ? value.number : Number.NaN;
      }
    }
    return bounds;
  }

  /** os.environ["HOME"], sys.modules["os"], vars(os)["system"] and globals()["eval"]. */
  #entry(object: Reference, index: Value): readonly Value[] {
    const key = index.kind === 'text' && !index.text.includes(hole) ? index.text : undefined;
    if (object.path === '<names>')
      return key === undefined ? [reference('<names>.?', true)] : this.named(key, true);
    if (object.path.endsWith('.__dict__')) {
      return [
        key === undefined
          ? reference('<names>.?', true, reference(object.path.slice(0, -9)))
          : this.member(reference(object.path.slice(0, -9)), key, true),
      ];
    }
    if (object.path === 'sys.modules')
      return [key === undefined ? reference('sys.modules', true) : reference(canonical(key), true)];
    if (object.path === 'os.environ' && key === 'HOME') return [literal('~')];
    return [reference(`${object.path}[]`, object.hidden, object.subject)];
  }

  #call(node: SyntaxNode): readonly Value[] {
    const given = this.argumentsOf(node);
    const results: Value[] = [];
    for (const target of this.evaluate(childOf(node, 'function')))
      results.push(...this.#result(target, given));
    return results;
  }

  #result(target: Value, given: Arguments): readonly Value[] {
    if (target.kind !== 'reference') return [unknown];
    if (target.path === 'builtins.globals' || target.path === 'builtins.locals')
      return [reference('<names>')];
    if (target.path === 'builtins.vars') return [namesOf(given.positional[0]?.[0])];
    if (
      target.path === '<names>.get' ||
      target.path === '<names>.__getitem__' ||
      /\.__dict__\.(get|__getitem__|pop)$/.test(target.path)
    ) {
      const of = reference(target.path.slice(0, target.path.lastIndexOf('.')));
      return this.#entry(of, given.positional[0]?.[0] ?? unknown);
    }
    if (target.path === 'operator.attrgetter()') {
      const name = target.subject?.kind === 'text' ? target.subject.text : undefined;
      const [of = unknown] = given.positional[0] ?? [];
      return [name === undefined ? reference('<names>.?', true, of) : this.member(of, name, true)];
    }
    if (target.subject && target.path.startsWith('?.'))
      return [foldMethod(target.path.slice(2), target.subject, given)];
    return [foldCall(target, given, (object, name, hidden) => this.member(object, name, hidden))];
  }
}
