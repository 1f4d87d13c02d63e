import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import { childOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { combinations, told } from '../values/choices.js';
import { listOf, put, spread, tableOf } from '../values/collect.js';
import { unescape } from '../values/escapes.js';
import { derived, literal, reference, unknown, type Reference, type Value } from '../values/value.js';
import { nameIn, plainString, type Binding, type Names } from './bindings.js';
import { canonical } from './canonical.js';
import { computedMember, foldCall, foldMethod, textValue } from './fold-calls.js';
import { globalNames } from './known-names.js';

const maxDepth = 60;
const maxBindings = 64;
const globalObjects = new Set(['globalThis', 'global', 'window', 'self']);

/** A called function with its arguments, after call, apply and bind are taken off. */
export interface Called {
  readonly target: Reference;
  readonly given: readonly Value[];
}

/** What an expression may be. Several values where a name has several; `unknown` where nobody can tell. */
export class Evaluator {
  readonly #piece: Piece;
  readonly #names: Names;
  /** By the ids of their nodes. */
  readonly #known: (readonly Value[] | undefined)[];
  readonly #openNodes: Uint8Array;
  readonly #openNames = new Set<string>();
  readonly #byName = new Map<string, readonly Value[]>();
  readonly #calls = new Map<number, readonly Called[]>();
  /** How many of both are open. */
  #depth = 0;

  constructor(piece: Piece, names: Names) {
    this.#piece = piece;
    this.#names = names;
    this.#known = new Array<undefined>(piece.tree.size);
    this.#openNodes = new Uint8Array(piece.tree.size);
  }

  evaluate(node: SyntaxNode | undefined): readonly Value[] {
    if (!node) return [unknown];
    const known = this.#known[node.id];
    if (known) return known;
    if (this.#openNodes[node.id] === 1 || this.#depth > maxDepth || !this.#piece.spend()) return [unknown];
    this.#openNodes[node.id] = 1;
    this.#depth += 1;
    try {
      const read = told(this.#read(node));
      const values = read.length === 0 ? [unknown] : read;
      this.#known[node.id] = values;
      return values;
    } finally {
      this.#openNodes[node.id] = 0;
      this.#depth -= 1;
    }
  }

  /** Whom a call or a `new` calls, and with what. */
  called(node: SyntaxNode): readonly Called[] {
    const called = this.#calls.get(node.id) ?? this.#called(node);
    // Inside of other expressions what it is called with may be cut short.
    if (this.#depth === 0) this.#calls.set(node.id, called);
    return called;
  }

  #called(node: SyntaxNode): readonly Called[] {
    const target = childOf(node, 'function') ?? childOf(node, 'constructor');
    const list = childOf(node, 'arguments');
    const ways =
      list?.type === 'template_string' ? this.evaluate(list).map((text) => [text]) : this.#items(list);
    const targets = target?.type === 'import' ? [reference('import')] : this.evaluate(target);
    return targets
      .filter((value) => value.kind === 'reference')
      .flatMap((value) => ways.map((given) => unwrapped(value, given)));
  }

  /** What stands in a list or between the brackets of a call, in each way that it can be. */
  #items(list: SyntaxNode | undefined): readonly (readonly Value[])[] {
    const nodes = namedChildren(list);
    if (nodes.every(({ type }) => type !== 'spread_element')) {
      const items = nodes.map((node) => this.evaluate(node));
      return combinations(items, unknown);
    }
    const parts = nodes.map((node): readonly (readonly Value[])[] => {
      if (node.type !== 'spread_element') return this.evaluate(node).map((value) => [value]);
      return this.evaluate(namedChildren(node)[0]).map((one) =>
        one.kind === 'list' ? one.items : [unknown],
      );
    });
    return combinations(parts, [unknown]).map((way) => {
      const items: Value[] = [];
      for (const part of way) spread(items, part);
      return items;
    });
  }

  /** Inside of other names a name may be cut short: what it is by itself is kept. */
  #identified(name: string): readonly Value[] {
    if (this.#depth > 1) return this.named(name);
    const values = this.#byName.get(name) ?? this.named(name);
    this.#byName.set(name, values);
    return values;
  }

  named(name: string, hidden = false): readonly Value[] {
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
    if (globalObjects.has(name)) values.push(reference('globalThis'));
    else if (globalNames.has(name)) values.push(reference(name, hidden));
    // What globalThis was given as a property is a name of nobody.
    if (values.length === 0 && this.#names.properties.has(name)) return this.named(`.${name}`, hidden);
    return values.length === 0 ? [unknown] : values;
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
          added(left, right),
        );
        values = told(longer);
      } else values = told([...values, ...this.#boundTo(binding)]);
    }
    return told([...values, ...before, ...(bindings.length > maxBindings ? [unknown] : [])]);
  }

  #boundTo(binding: Exclude<Binding, { kind: 'append' }>): readonly Value[] {
    switch (binding.kind) {
      case 'expression':
        return this.evaluate(binding.node).flatMap((value) =>
          binding.keys.reduce<readonly Value[]>(
            (objects, key) => told(objects.flatMap((object) => this.member(object, key, false))),
            [value],
          ),
        );
      case 'element':
        return this.evaluate(binding.node).flatMap((value) =>
          value.kind === 'list' ? told(value.items) : [unknown],
        );
      case 'module': {
        const { module, member } = binding;
        return [reference(canonical(member === undefined ? module : `${module}.${member}`))];
      }
      case 'unknown':
        return [unknown];
    }
  }

  #read(node: SyntaxNode): readonly Value[] {
    const { tree } = this.#piece;
    switch (node.type) {
      case 'identifier':
      case 'shorthand_property_identifier':
        return this.#identified(nameIn(tree, node));
      case 'string': {
        const text = plainString(tree, node) ?? hole;
        return [/\\[xu0-7]/.test(textOf(tree, node)) ? derived(text, [], 'assembled') : literal(text)];
      }
      case 'template_string':
        return this.#template(node);
      case 'regex':
        return [reference('<regex>', false, literal(textOf(tree, node)))];
      case 'number':
        return [{ kind: 'number', number: Number(textOf(tree, node).replaceAll('_', '')) }];
      case 'parenthesized_expression':
      case 'await_expression':
      case 'expression_statement':
        return this.evaluate(namedChildren(node)[0]);
      case 'sequence_expression':
        return this.evaluate(namedChildren(node).at(-1));
      case 'assignment_expression':
        return this.evaluate(childOf(node, 'right'));
      case 'ternary_expression':
        return [
          ...this.evaluate(childOf(node, 'consequence')),
          ...this.evaluate(childOf(node, 'alternative')),
        ];
      case 'binary_expression':
        return this.#combined(node);
      case 'array':
        return this.#items(node).map(listOf);
      case 'object':
        return [this.#object(node)];
      case 'arrow_function':
      case 'function_expression':
      case 'generator_function':
        return [reference('<function>')];
      case 'meta_property':
        return [reference('import.meta')];
      case 'member_expression': {
        const property = childOf(node, 'property');
        if (!property) return [unknown];
        return this.#members(childOf(node, 'object'), nameIn(tree, property));
      }
      case 'subscript_expression':
        return this.#subscript(node);
      case 'call_expression':
      case 'new_expression':
        return this.#call(node);
      default:
        return [unknown];
    }
  }

  #template(node: SyntaxNode): readonly Value[] {
    const { tree } = this.#piece;
    const parts = node.children.filter((child) => child.named);
    if (parts.every((part) => part.type === 'string_fragment'))
      return [literal(parts.map((part) => unescape(textOf(tree, part))).join(''))];
    const choices = parts.map((part): readonly Value[] => {
      if (part.type === 'template_substitution') return this.evaluate(namedChildren(part)[0]);
      return [literal(unescape(textOf(tree, part)))];
    });
    return combinations(choices, unknown).map((way) => derived(way.map(textValue).join(''), [], 'assembled'));
  }

  #combined(node: SyntaxNode): readonly Value[] {
    const operator = childOf(node, 'operator')?.type ?? '';
    const lefts = this.evaluate(childOf(node, 'left'));
    const rights = this.evaluate(childOf(node, 'right'));
    if (/^(\|\||&&|\?\?)$/.test(operator)) return [...lefts, ...rights];
    return combinations([lefts, rights], unknown).map(([left = unknown, right = unknown]) =>
      operator === '+' ? added(left, right) : arithmetic(operator, left, right),
    );
  }

  #object(node: SyntaxNode): Value {
    const entries = new Map<string, readonly Value[]>();
    const spreads: Value[] = [];
    for (const part of namedChildren(node)) {
      const key = childOf(part, 'key');
      if (part.type === 'shorthand_property_identifier')
        put(entries, nameIn(this.#piece.tree, part), this.evaluate(part));
      else if (part.type === 'spread_element') spreads.push(...this.evaluate(namedChildren(part)[0]));
      else if (key?.type === 'computed_property_name') {
        const values = this.evaluate(childOf(part, 'value'));
        for (const name of this.evaluate(namedChildren(key)[0])) put(entries, textValue(name), values);
      } else if (key) {
        const name = plainString(this.#piece.tree, key) ?? nameIn(this.#piece.tree, key);
        put(entries, name, this.evaluate(childOf(part, 'value')));
      }
    }
    return tableOf(entries, spreads, () => this.spend());
  }

  spend(): boolean {
    return this.#piece.spend();
  }

  #subscript(node: SyntaxNode): readonly Value[] {
    const sides = [this.evaluate(childOf(node, 'object')), this.evaluate(childOf(node, 'index'))];
    return combinations(sides, unknown).flatMap(([object = unknown, index = unknown]) =>
      this.#entry(object, index),
    );
  }

  #entry(object: Value, index: Value): readonly Value[] {
    if (index.kind === 'number') {
      if (object.kind === 'list') return [object.items[index.number] ?? unknown];
      if (object.kind === 'text') return [derived(object.text.charAt(index.number), [object], 'assembled')];
    }
    if (index.kind === 'text' && !index.text.includes(hole))
      return this.member(object, index.text, index.assembled || index.decoded);
    if (object.kind === 'table') {
      const known = index.kind === 'number' ? object.entries.get(String(index.number)) : undefined;
      if (known) return known;
      const others = (object.from ?? []).flatMap((one) => this.#entry(one, index));
      return told([...[...object.entries.values()].flat(), ...others]);
    }
    if (object.kind === 'list') return told([...object.items, unknown]);
    if (index.kind === 'number' && object.kind !== 'reference') return [unknown];
    return [computedMember(object)];
  }

  #members(node: SyntaxNode | undefined, name: string): readonly Value[] {
    const objects = this.evaluate(node);
    const members = objects.flatMap((object) => this.member(object, name, false));
    // What some object was given under that name, any object may have.
    if (!this.#names.properties.has(name) || objects.every(({ kind }) => kind === 'text')) return members;
    return [...members, ...this.#identified(`.${name}`).filter(({ kind }) => kind !== 'unknown')];
  }

  member(object: Value, name: string, hidden: boolean): readonly Value[] {
    switch (object.kind) {
      case 'table': {
        const known = object.entries.get(name) ?? [];
        // Under a key that is not known, or out of what was spread into it.
        const others = object.entries.get(hole) ?? [];
        const members = (object.from ?? []).flatMap((one) => this.member(one, name, false));
        const values = [...known, ...others, ...members];
        return values.length === 0 ? [unknown] : told(values);
      }
      case 'reference': {
        if (object.path === 'globalThis') return this.named(name, true);
        // [].filter.constructor: a method is a function, and functions have the constructor of all.
        if (name === 'constructor' && object.subject?.kind === 'list' && /^\?\.\w+$/.test(object.path))
          return [reference('Function', true)];
        return [reference(canonical(`${object.path}.${name}`), object.hidden || hidden, object.subject)];
      }
      case 'list':
        if (/^\d+$/.test(name)) return [object.items[Number(name)] ?? unknown];
        return [
          name === 'constructor'
            ? reference('<constructor>', hidden)
            : reference(`?.${name}`, hidden, object),
        ];
      case 'text':
      case 'number':
        return [
          name === 'constructor'
            ? reference('<constructor>', hidden)
            : reference(`?.${name}`, hidden, object),
        ];
      case 'unknown':
        return [reference(`?.${name}`, hidden, object)];
    }
  }

  #call(node: SyntaxNode): readonly Value[] {
    return this.called(node).flatMap(({ target, given }): readonly Value[] => {
      if (target.subject && target.path.startsWith('?.'))
        return [foldMethod(target.path.slice(2), target.subject, given)];
      return foldCall(target, given, this);
    });
  }
}

/** f.call(this, x), f.apply(this, [x]) and Reflect.apply(f, this, [x]) all call f with x. */
function unwrapped(target: Reference, given: readonly Value[]): Called {
  const { path } = target;
  if (!path.startsWith('Reflect.') && !path.endsWith('.call') && !path.endsWith('.apply'))
    return { target, given };
  const spread = (list: Value | undefined): readonly Value[] =>
    list?.kind === 'list' ? list.items : [unknown];
  const [first, second, third] = given;
  if (/^Reflect\.(apply|construct)$/.test(path) && first?.kind === 'reference')
    return { target: first, given: spread(path === 'Reflect.apply' ? third : second) };
  const inner = { ...target, path: path.replace(/\.(call|apply)$/, '') };
  if (path.endsWith('.call') && !path.startsWith('?')) return { target: inner, given: given.slice(1) };
  if (path.endsWith('.apply') && !path.startsWith('?')) return { target: inner, given: spread(second) };
  return { target, given };
}

function added(left: Value, right: Value): Value {
  if (left.kind === 'number' && right.kind === 'number')
    return { kind: 'number', number: left.number + right.number };
  if (left.kind === 'text' || right.kind === 'text')
    return derived(textValue(left) + textValue(right), [left, right], 'assembled');
  return unknown;
}

function arithmetic(operator: string, left: Value, right: Value): Value {
  if (left.kind !== 'number' || right.kind !== 'number') return unknown;
  switch (operator) {
    case '-':
      return { kind: 'number', number: left.number - right.number };
    case '*':
      return { kind: 'number', number: left.number * right.number };
    case '^':
      return { kind: 'number', number: left.number ^ right.number };
    default:
      return unknown;
  }
}
