import { childOf, namedChildren, textOf, type SyntaxNode, type SyntaxTree } from '../syntax/node.js';
import { unescape } from '../values/escapes.js';

/** One way in which a name gets its value. */
export type Binding =
  | { readonly kind: 'expression'; readonly node: SyntaxNode; readonly keys: readonly string[] }
  | { readonly kind: 'element'; readonly node: SyntaxNode }
  | { readonly kind: 'append'; readonly node: SyntaxNode }
  | { readonly kind: 'module'; readonly module: string; readonly member: string | undefined }
  | { readonly kind: 'unknown' };

export interface Names {
  /** Properties with a dot before their name. */
  readonly bound: ReadonlyMap<string, readonly Binding[]>;
  /** Of which objects any was given some, without the dot. */
  readonly properties: ReadonlySet<string>;
}

/** \u0065val is eval. */
export function nameIn(tree: SyntaxTree, node: SyntaxNode): string {
  return unescape(textOf(tree, node));
}

/** The text of a string without anything to fill in. */
export function plainString(tree: SyntaxTree, node: SyntaxNode | undefined): string | undefined {
  return node?.type === 'string' ? unescape(textOf(tree, node).slice(1, -1)) : undefined;
}

/** All that any name is bound to anywhere; scopes and order are left out, so that moving a line hides nothing. */
export function collectNames(tree: SyntaxTree): Names {
  const bound = new Map<string, Binding[]>();
  const name = (node: SyntaxNode) => nameIn(tree, node);
  const bind = (key: string, binding: Binding) => {
    const bindings = bound.get(key);
    if (bindings) bindings.push(binding);
    else bound.set(key, [binding]);
  };

  const assign = (target: SyntaxNode, node: SyntaxNode, keys: readonly string[]): void => {
    switch (target.type) {
      case 'identifier':
      case 'shorthand_property_identifier_pattern':
        bind(name(target), { kind: 'expression', node, keys });
        return;
      case 'member_expression': {
        const property = childOf(target, 'property');
        if (property) bind(`.${name(property)}`, { kind: 'expression', node, keys });
        return;
      }
      case 'object_pattern':
        for (const part of namedChildren(target)) assignPart(part, node, keys);
        return;
      case 'array_pattern':
        for (const [index, part] of namedChildren(target).entries())
          assign(part, node, [...keys, String(index)]);
        return;
      case 'assignment_pattern':
      case 'object_assignment_pattern': {
        const [left, right] = [childOf(target, 'left'), childOf(target, 'right')];
        if (left) assignPart(left, node, keys);
        if (left && right) assign(left, right, []);
        return;
      }
      case 'parenthesized_expression':
        for (const part of namedChildren(target)) assign(part, node, keys);
        return;
      default:
    }
  };

  const assignPart = (part: SyntaxNode, node: SyntaxNode, keys: readonly string[]): void => {
    if (part.type === 'pair_pattern') {
      const [key, value] = [childOf(part, 'key'), childOf(part, 'value')];
      const text = key && (plainString(tree, key) ?? name(key));
      if (value && text !== undefined) assign(value, node, [...keys, text]);
    } else if (part.type === 'shorthand_property_identifier_pattern')
      assign(part, node, [...keys, name(part)]);
    else if (part.type === 'rest_pattern') for (const rest of namedChildren(part)) assign(rest, node, keys);
    else if (part.type === 'object_assignment_pattern') assign(part, node, keys);
    else assign(part, node, keys);
  };

  const parameters = (list: SyntaxNode | undefined): void => {
    if (!list) return;
    for (const part of list.type === 'identifier' ? [list] : namedChildren(list)) {
      if (part.type === 'identifier') bind(name(part), { kind: 'unknown' });
      const right = part.type === 'assignment_pattern' ? childOf(part, 'right') : undefined;
      if (right) assign(part, right, []);
    }
  };

  const importNames = (node: SyntaxNode): void => {
    const module = plainString(tree, childOf(node, 'source'));
    const clause = node.children.find((child) => child.type === 'import_clause');
    if (module === undefined || !clause) return;
    for (const part of namedChildren(clause)) {
      if (part.type === 'identifier') bind(name(part), { kind: 'module', module, member: undefined });
      else if (part.type === 'namespace_import') {
        for (const inner of namedChildren(part))
          bind(name(inner), { kind: 'module', module, member: undefined });
      } else {
        for (const item of namedChildren(part)) {
          const original = childOf(item, 'name');
          const alias = childOf(item, 'alias') ?? original;
          if (original && alias)
            bind(name(alias), {
              kind: 'module',
              module,
              member: plainString(tree, original) ?? name(original),
            });
        }
      }
    }
  };

  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'import_statement':
        importNames(node);
        break;
      case 'variable_declarator': {
        const [left, right] = [childOf(node, 'name'), childOf(node, 'value')];
        if (left && right) assign(left, right, []);
        break;
      }
      case 'field_definition': {
        const [property, value] = [childOf(node, 'property'), childOf(node, 'value')];
        if (property && value) bind(`.${name(property)}`, { kind: 'expression', node: value, keys: [] });
        break;
      }
      case 'assignment_expression': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left && right) assign(left, right, []);
        break;
      }
      case 'augmented_assignment_expression': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left?.type === 'identifier' && right) {
          const operator = childOf(node, 'operator')?.type ?? '';
          if (operator === '+=') bind(name(left), { kind: 'append', node: right });
          else
            bind(
              name(left),
              /^(\|\||&&|\?\?)=$/.test(operator)
                ? { kind: 'expression', node: right, keys: [] }
                : { kind: 'unknown' },
            );
        }
        break;
      }
      case 'for_in_statement': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left?.type === 'identifier' && right) bind(name(left), { kind: 'element', node: right });
        break;
      }
      case 'call_expression':
        bindContinuation(node);
        break;
      default:
        parameters(childOf(node, 'parameters') ?? childOf(node, 'parameter'));
    }
    // What has no parts binds nothing.
    for (const child of node.children) if (child.named && child.children.length > 0) visit(child);
  };

  /** In x.then((y) => …) y is x; in xs.forEach((x) => …) x is one of xs. */
  const bindContinuation = (node: SyntaxNode): void => {
    const target = childOf(node, 'function');
    const property = childOf(target, 'property');
    const object = childOf(target, 'object');
    const [callback] = namedChildren(childOf(node, 'arguments'));
    if (target?.type !== 'member_expression' || !property || !object || !callback) return;
    const list = childOf(callback, 'parameters') ?? childOf(callback, 'parameter');
    const first = list?.type === 'identifier' ? list : namedChildren(list)[0];
    if (!first) return;
    if (name(property) === 'then') assign(first, object, []);
    else if (/^(forEach|map|filter|some|every|find)$/.test(name(property)) && first.type === 'identifier') {
      bind(name(first), { kind: 'element', node: object });
    }
  };

  visit(tree.root);
  const properties = new Set<string>();
  for (const key of bound.keys()) if (key.startsWith('.')) properties.add(key.slice(1));
  return { bound, properties };
}
