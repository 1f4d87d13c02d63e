import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import { childOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
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
import { nameIn, plainString, type Binding, type Names } from './bindings.js';
import { canonical } from './canonical.js';
import { computedMember, foldCall, foldMethod, textValue } from './fold-calls.js';
import { globalNames } from './known-names.js';

const maxDepth = 60;
const maxChoices = 6;
const globalObjects = new Set(['globalThis', 'global', 'window', 'self']);

/** A called function with its arguments, after call, apply and bind are taken off. */
export interface Called {
  readonly target: Reference;
  readonly given: readonly (readonly Value[])[];
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
      const all = this.#read(node);
      const values = all.length > maxChoices ? all.slice(0, maxChoices) : all;
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
    const given = list?.type === 'template_string' ? [this.evaluate(list)] : this.#arguments(list);
    const targets = target?.type === 'import' ? [reference('import')] : this.evaluate(target);
    return targets.filter((value) => value.kind === 'reference').map((value) => unwrapped(value, given));
  }

  #arguments(list: SyntaxNode | undefined): readonly (readonly Value[])[] {
    const given: (readonly Value[])[] = [];
    for (const node of namedChildren(list)) {
      if (node.type !== 'spread_element') {
        given.push(this.evaluate(node));
        continue;
      }
      const [items] = this.evaluate(namedChildren(node)[0]);
      if (items?.kind === 'list') for (const item of items.items) given.push([item]);
      else given.push([unknown]);
    }
    return given;
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
    const bindings = this.#names.get(name) ?? [];
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
    return values.length === 0 ? [unknown] : values;
  }

  #bound(bindings: readonly Binding[]): readonly Value[] {
    const values: Value[] = [];
    for (const binding of bindings.slice(0, 32)) {
      // No more are kept, and what comes changes the last one at most.
      if (values.length > maxChoices) break;
      switch (binding.kind) {
        case 'expression':
          for (const value of this.evaluate(binding.node)) {
            values.push(
              binding.keys.reduce<Value>(
                (object, key) => this.member(object, key, false)[0] ?? unknown,
                value,
              ),
            );
          }
          break;
        case 'element':
          for (const value of this.evaluate(binding.node)) {
            values.push(...(value.kind === 'list' ? value.items.slice(0, maxChoices) : [unknown]));
          }
          break;
        case 'append': {
          const last = values.pop() ?? unknown;
          const more = this.evaluate(binding.node)[0] ?? unknown;
          values.push(added(last, more));
          break;
        }
        case 'module':
          values.push(
            reference(
              canonical(
                binding.member === undefined ? binding.module : `${binding.module}.${binding.member}`,
              ),
            ),
          );
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
      case 'shorthand_property_identifier':
        return this.#identified(nameIn(tree, node));
      case 'string': {
        const text = plainString(tree, node) ?? hole;
        return [/\\[xu0-7]/.test(textOf(tree, node)) ? derived(text, [], 'assembled') : literal(text)];
      }
      case 'template_string':
        return [this.#template(node)];
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
        return [
          {
            kind: 'list',
            items: namedChildren(node)
              .slice(0, maxItems)
              .map((item) => this.evaluate(item)[0] ?? unknown),
          },
        ];
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

  #template(node: SyntaxNode): Value {
    const { tree } = this.#piece;
    const parts = node.children.filter((child) => child.named);
    const texts = parts.map((part) => {
      if (part.type === 'template_substitution')
        return textValue(this.evaluate(namedChildren(part)[0])[0] ?? unknown);
      return unescape(textOf(tree, part));
    });
    const filled = parts.some((part) => part.type !== 'string_fragment');
    return filled ? derived(texts.join(''), [], 'assembled') : literal(texts.join(''));
  }

  #combined(node: SyntaxNode): readonly Value[] {
    const operator = childOf(node, 'operator')?.type ?? '';
    const lefts = this.evaluate(childOf(node, 'left'));
    const rights = this.evaluate(childOf(node, 'right'));
    if (/^(\|\||&&|\?\?)$/.test(operator)) return [...lefts, ...rights];
    return lefts.flatMap((left) =>
      rights.map((right) => (operator === '+' ? added(left, right) : arithmetic(operator, left, right))),
    );
  }

  #object(node: SyntaxNode): Value {
    const entries = new Map<string, readonly Value[]>();
    for (const part of namedChildren(node).slice(0, maxItems)) {
      const key = childOf(part, 'key');
      if (part.type === 'shorthand_property_identifier')
        entries.set(nameIn(this.#piece.tree, part), this.evaluate(part));
      else if (key) {
        const [computed] = key.type === 'computed_property_name' ? this.evaluate(namedChildren(key)[0]) : [];
        const text =
          computed?.kind === 'text'
            ? computed.text
            : (plainString(this.#piece.tree, key) ?? nameIn(this.#piece.tree, key));
        entries.set(text, this.evaluate(childOf(part, 'value')));
      }
    }
    return { kind: 'table', entries };
  }

  #subscript(node: SyntaxNode): readonly Value[] {
    const [index = unknown] = this.evaluate(childOf(node, 'index'));
    return this.evaluate(childOf(node, 'object')).flatMap((object): readonly Value[] => {
      if (index.kind === 'number') {
        if (object.kind === 'list') return [object.items[index.number] ?? unknown];
        if (object.kind === 'text') return [derived(object.text.charAt(index.number), [object], 'assembled')];
      }
      if (index.kind === 'text' && !index.text.includes(hole))
        return this.member(object, index.text, index.assembled || index.decoded);
      if (index.kind === 'number' && object.kind !== 'reference') return [unknown];
      if (object.kind === 'table') return [...object.entries.values()].flat().slice(0, maxChoices);
      return [computedMember(object)];
    });
  }

  #members(node: SyntaxNode | undefined, name: string): readonly Value[] {
    const members: Value[] = [];
    for (const object of this.evaluate(node)) members.push(...this.member(object, name, false));
    return members;
  }

  member(object: Value, name: string, hidden: boolean): readonly Value[] {
    switch (object.kind) {
      case 'table':
        return object.entries.get(name) ?? [unknown];
      case 'reference': {
        if (object.path === 'globalThis') return this.named(name, true);
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
    return this.called(node).map(({ target, given }): Value => {
      const values = given.map(([first]) => first ?? unknown);
      if (target.subject && target.path.startsWith('?.'))
        return foldMethod(target.path.slice(2), target.subject, values);
      return foldCall(target, values, (object, name) => this.member(object, name, true)[0] ?? unknown);
    });
  }
}

/** f.call(this, x), f.apply(this, [x]) and Reflect.apply(f, this, [x]) all call f with x. */
function unwrapped(target: Reference, given: readonly (readonly Value[])[]): Called {
  const { path } = target;
  if (!path.startsWith('Reflect.') && !path.endsWith('.call') && !path.endsWith('.apply'))
    return { target, given };
  const spread = (list: readonly Value[] | undefined): readonly (readonly Value[])[] => {
    const [items] = list ?? [];
    return items?.kind === 'list' ? items.items.map((item) => [item]) : [[unknown]];
  };
  const [first, , third] = given;
  if (/^Reflect\.(apply|construct)$/.test(target.path) && first?.[0]?.kind === 'reference') {
    return { target: first[0], given: spread(target.path === 'Reflect.apply' ? third : given[1]) };
  }
  const inner = { ...target, path: target.path.replace(/\.(call|apply)$/, '') };
  if (target.path.endsWith('.call') && !target.path.startsWith('?'))
    return { target: inner, given: given.slice(1) };
  if (target.path.endsWith('.apply') && !target.path.startsWith('?'))
    return { target: inner, given: spread(given[1]) };
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
