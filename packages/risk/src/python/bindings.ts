import {
  childOf,
  childrenOf,
  namedChildren,
  textOf,
  type SyntaxNode,
  type SyntaxTree,
} from '../syntax/node.js';

/** One way in which a name gets its value. */
export type Binding =
  | { readonly kind: 'expression'; readonly node: SyntaxNode }
  | { readonly kind: 'element'; readonly node: SyntaxNode; readonly index?: number }
  | { readonly kind: 'append'; readonly node: SyntaxNode }
  | { readonly kind: 'module'; readonly path: string }
  | { readonly kind: 'unknown' };

export interface Names {
  /** Attributes with a dot before their name. */
  readonly bound: ReadonlyMap<string, readonly Binding[]>;
  /** Of which objects any was given some, without the dot. */
  readonly attributes: ReadonlySet<string>;
  /** Modules of which everything is imported. */
  readonly stars: readonly string[];
}

/** Python reads 𝐞𝐯𝐚𝐥 as eval. */
export function nameIn(tree: SyntaxTree, node: SyntaxNode): string {
  const text = textOf(tree, node);
  for (let at = 0; at < text.length; at += 1) {
    // All of ASCII is what needs no normalization.
    if (text.charCodeAt(at) > 0x7f) return text.normalize('NFKC');
  }
  return text;
}

/**
 * All that any name is bound to anywhere. Scopes and the order of things are left out: a name can be whatever it is
 * somewhere, so that moving a line hides nothing.
 */
export function collectNames(tree: SyntaxTree): Names {
  const bound = new Map<string, Binding[]>();
  const stars: string[] = [];
  const name = (node: SyntaxNode) => nameIn(tree, node);
  const bind = (key: string, binding: Binding) => {
    const bindings = bound.get(key);
    if (bindings) bindings.push(binding);
    else bound.set(key, [binding]);
  };

  const assign = (target: SyntaxNode, node: SyntaxNode, element: boolean): void => {
    const parts = namedChildren(target);
    switch (target.type) {
      case 'identifier':
        bind(name(target), element ? { kind: 'element', node } : { kind: 'expression', node });
        return;
      case 'pattern_list':
      case 'tuple_pattern':
      case 'list_pattern': {
        const values = element ? [] : namedChildren(node);
        const matches = /^(expression_list|tuple|list)$/.test(node.type) && values.length === parts.length;
        for (const [index, part] of parts.entries()) {
          const value = matches ? values[index] : undefined;
          if (value) assign(part, value, false);
          else if (part.type === 'identifier')
            bind(name(part), element ? { kind: 'unknown' } : { kind: 'element', node, index });
          else assign(part, node, true);
        }
        return;
      }
      case 'attribute': {
        const attribute = childOf(target, 'attribute');
        if (attribute)
          bind(`.${name(attribute)}`, element ? { kind: 'element', node } : { kind: 'expression', node });
        return;
      }
      case 'list_splat_pattern':
      case 'parenthesized_expression':
      case 'as_pattern_target':
        for (const part of parts) assign(part, node, element);
        return;
      default:
    }
  };

  const importFrom = (node: SyntaxNode): void => {
    const module = childOf(node, 'module_name');
    if (!module) return;
    const path = name(module);
    if (node.children.some((child) => child.type === 'wildcard_import')) stars.push(path);
    for (const item of childrenOf(node, 'name')) {
      const inner = item.type === 'aliased_import' ? childOf(item, 'name') : item;
      const alias = item.type === 'aliased_import' ? childOf(item, 'alias') : item;
      if (inner && alias) bind(name(alias), { kind: 'module', path: `${path}.${name(inner)}` });
    }
  };

  const visit = (node: SyntaxNode): void => {
    switch (node.type) {
      case 'import_statement':
        for (const item of childrenOf(node, 'name')) {
          if (item.type === 'aliased_import') {
            const [inner, alias] = [childOf(item, 'name'), childOf(item, 'alias')];
            if (inner && alias) bind(name(alias), { kind: 'module', path: name(inner) });
          } else {
            const [top = ''] = name(item).split('.');
            bind(top, { kind: 'module', path: top });
          }
        }
        break;
      case 'import_from_statement':
        importFrom(node);
        break;
      case 'assignment': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left && right) assign(left, right, false);
        break;
      }
      case 'augmented_assignment': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left?.type !== 'identifier' || !right) break;
        const isPlus = childOf(node, 'operator')?.type === '+=';
        bind(name(left), isPlus ? { kind: 'append', node: right } : { kind: 'unknown' });
        break;
      }
      case 'named_expression': {
        const [left, right] = [childOf(node, 'name'), childOf(node, 'value')];
        if (left && right) assign(left, right, false);
        break;
      }
      case 'for_statement':
      case 'for_in_clause': {
        const [left, right] = [childOf(node, 'left'), childOf(node, 'right')];
        if (left && right) assign(left, right, true);
        break;
      }
      case 'as_pattern': {
        const target = childOf(node, 'alias');
        const [value] = namedChildren(node);
        if (target && value) assign(target, value, false);
        break;
      }
      case 'default_parameter':
      case 'typed_default_parameter': {
        const [left, right] = [childOf(node, 'name'), childOf(node, 'value')];
        if (!left || !right) break;
        assign(left, right, false);
        bind(name(left), { kind: 'unknown' });
        break;
      }
      case 'parameters':
      case 'lambda_parameters':
        for (const part of namedChildren(node)) {
          const target = part.type === 'identifier' ? part : namedChildren(part)[0];
          if (target?.type === 'identifier') bind(name(target), { kind: 'unknown' });
        }
        break;
      case 'function_definition':
      case 'class_definition': {
        const target = childOf(node, 'name');
        if (target) bind(name(target), { kind: 'unknown' });
        if (node.type === 'class_definition') noteMembers(childOf(node, 'body'));
        break;
      }
      default:
    }
    // What has no parts binds nothing.
    for (const child of node.children) if (child.named && child.children.length > 0) visit(child);
  };
  /** What a class binds in its body are names there, and attributes everywhere. */
  const members = new Set<string>();
  const noteMembers = (body: SyntaxNode | undefined): void => {
    for (const statement of namedChildren(body)) {
      const [inner] = namedChildren(statement);
      const left = inner?.type === 'assignment' ? childOf(inner, 'left') : undefined;
      if (left?.type === 'identifier') members.add(name(left));
      if (!statement.type.startsWith('import')) continue;
      for (const item of childrenOf(statement, 'name')) members.add(name(childOf(item, 'alias') ?? item));
    }
  };

  visit(tree.root);
  for (const member of members) for (const binding of bound.get(member) ?? []) bind(`.${member}`, binding);
  const attributes = new Set<string>();
  for (const key of bound.keys()) if (key.startsWith('.')) attributes.add(key.slice(1));
  return { bound, attributes, stars };
}
