import type { Piece } from '../piece.js';
import { childOf, childrenOf, namedChildren, textOf, type SyntaxNode } from '../syntax/node.js';
import { reference, type Value } from '../values/value.js';
import { assessCall, assessReference, capabilityOf } from './assess-use.js';
import { collectNames, nameIn } from './bindings.js';
import { canonical } from './canonical.js';
import { Evaluator } from './evaluate.js';
import { capabilities, introspective, knownModules } from './known-names.js';

/** Looks at every expression of a program, wherever it stands, for what it names and calls. */
export function assessPython(piece: Piece): void {
  const { tree } = piece;
  assessEncoding(piece);
  const names = collectNames(tree);
  const evaluator = new Evaluator(piece, names);

  const visit = (node: SyntaxNode, parent: SyntaxNode | undefined, above?: SyntaxNode): void => {
    if (!piece.spend()) return;
    switch (node.type) {
      case 'import_statement':
        for (const item of childrenOf(node, 'name')) {
          const module = item.type === 'aliased_import' ? childOf(item, 'name') : item;
          if (module) assessImport(piece, nameIn(tree, module), node);
        }
        return;
      case 'import_from_statement': {
        const module = childOf(node, 'module_name');
        if (module) assessImport(piece, nameIn(tree, module), node);
        return;
      }
      case 'call':
        assessCall(piece, evaluator, node);
        // What getattr and the like give back is handed on as a name would be.
        assessBare(node, parent, above);
        break;
      case 'decorator': {
        const [value] = namedChildren(node);
        if (value && value.type !== 'call')
          for (const target of evaluator.evaluate(value)) assessDecorator(piece, target, node);
        break;
      }
      case 'attribute': {
        const attribute = childOf(node, 'attribute');
        if (attribute && introspective.has(nameIn(tree, attribute)) && !isOwnClass(node))
          piece.add('code.introspection', node);
        assessBare(node, parent, above);
        break;
      }
      case 'identifier':
        assessBare(node, parent, above);
        return;
      case 'subscript':
        assessBare(node, parent, above);
        break;
      case 'print_statement':
      case 'exec_statement':
        // The grammar reads python 2 as well, the interpreter does not.
        piece.add('cannot-tell.parse-error', node);
        break;
      case 'assignment':
      case 'augmented_assignment':
        changes(childOf(node, 'left'), node);
        break;
      case 'delete_statement':
      case 'for_statement':
        for (const target of node.type === 'for_statement' ? childrenOf(node, 'left') : namedChildren(node))
          changes(target, node);
        break;
      case 'while_statement':
        if (isEndless(node) && callsFork(evaluator, node)) piece.add('process.bomb', node);
        break;
      default:
    }
    for (const child of node.children) if (child.named) visit(child, node, parent);
  };
  visit(tree.root, undefined);

  /** What is handed on as it stands, and is not called or looked into here. */
  function assessBare(node: SyntaxNode, parent: SyntaxNode | undefined, above: SyntaxNode | undefined): void {
    if (!isBare(node, parent)) return;
    assessReference(piece, evaluator, node, isHanded(node, parent) && !isLookedAt(parent, above));
  }

  function isLookedAt(parent: SyntaxNode | undefined, call: SyntaxNode | undefined): boolean {
    const target = parent?.type === 'argument_list' ? childOf(call, 'function') : undefined;
    if (target?.type !== 'identifier') return false;
    const name = nameIn(tree, target);
    return looking.has(name) && !names.bound.has(name);
  }

  /** `sys.path[:0] = …` and `del sys.meta_path[0]` change where modules come from as much as methods do. */
  function changes(target: SyntaxNode | undefined, node: SyntaxNode): void {
    if (!target) return;
    if (/^(pattern_list|tuple_pattern|list_pattern|expression_list|list_splat_pattern)$/.test(target.type)) {
      for (const part of namedChildren(target)) changes(part, node);
      return;
    }
    const object = target.type === 'subscript' ? childOf(target, 'value') : target;
    const isName = target.type === 'identifier' && node.type === 'assignment';
    if (!object || isName || !/^(attribute|subscript|identifier)$/.test(target.type)) return;
    for (const value of evaluator.evaluate(object))
      if (value.kind === 'reference' && capabilityOf(reference(`${value.path}.append`)) === 'introspection')
        piece.add('code.introspection', node);
  }

  function isOwnClass(node: SyntaxNode): boolean {
    const attribute = childOf(node, 'attribute');
    // super().__reduce__() and the like of one's own class are common; walking bases is not.
    return (
      attribute !== undefined &&
      /^__reduce(_ex)?__$/.test(textOf(tree, attribute)) &&
      textOf(tree, node).startsWith('super()')
    );
  }

  function isEndless(node: SyntaxNode): boolean {
    const condition = childOf(node, 'condition');
    return condition !== undefined && /^\(?(True|1)\)?$/.test(textOf(tree, condition));
  }
}

function callsFork(evaluator: Evaluator, node: SyntaxNode): boolean {
  if (node.type === 'call') {
    const values = evaluator.evaluate(childOf(node, 'function'));
    if (values.some((value) => value.kind === 'reference' && capabilities.get(value.path) === 'fork'))
      return true;
  }
  return node.children.some((child) => child.named && callsFork(evaluator, child));
}

/** `@exec` over a class runs whatever the decorator below it gives. */
function assessDecorator(piece: Piece, target: Value, node: SyntaxNode): void {
  if (target.kind === 'reference' && capabilities.get(target.path) === 'code')
    piece.add('code.computed', node);
}

/** Whether an expression is handed on, rather than called, bound to a name or looked into. */
function isBare(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (!parent) return false;
  if (node.field === 'function' && parent.type === 'call') return false;
  if (node.field === 'object' && parent.type === 'attribute') return false;
  if (node.field === 'value' && parent.type === 'subscript') return false;
  if (node.field === 'attribute' || (node.field === 'name' && parent.type !== 'assignment')) return false;
  return !(node.field === 'left' && /assignment|for_/.test(parent.type));
}

/** Whether who gets it can call it: by an argument, a result or a part of something, not by a name of its own. */
function isHanded(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent?.type === 'assignment') {
    const left = node.field === 'right' ? childOf(parent, 'left') : undefined;
    return left?.type === 'subscript' || left?.type === 'attribute';
  }
  return parent !== undefined && handing.has(parent.type);
}

/** Functions that call nothing of what they are given, or whose results are followed. */
const looking = new Set([
  'hasattr',
  'isinstance',
  'issubclass',
  'id',
  'type',
  'repr',
  'dir',
  'vars',
  'getattr',
]);

const handing = new Set([
  'argument_list',
  'keyword_argument',
  'return_statement',
  'yield',
  'lambda',
  'list',
  'tuple',
  'set',
  'pair',
  'expression_list',
  'list_comprehension',
  'generator_expression',
  'dictionary_comprehension',
  'list_splat',
  'conditional_expression',
  'boolean_operator',
  'parenthesized_expression',
  'match_statement',
]);

function assessImport(piece: Piece, name: string, node: SyntaxNode): void {
  const path = canonical(name);
  const [top = ''] = path.split('.');
  const capability = capabilities.get(path) ?? capabilities.get(top);
  if (capability === 'native') piece.add('code.native', node);
  else if (capability === undefined && !knownModules.has(top)) piece.add('cannot-tell.unknown-module', node);
}

/** The interpreter reads the file in the encoding that its first lines name. */
function assessEncoding(piece: Piece): void {
  const comments = piece.tree.root.children.filter(({ type }) => type === 'comment').slice(0, 2);
  for (const comment of comments) {
    const [, encoding = ''] = /coding[:=]\s*([-\w.]+)/.exec(textOf(piece.tree, comment)) ?? [];
    if (encoding !== '' && !/^(utf-?8|ascii|us-ascii|latin-?1|iso-8859-1)$/i.test(encoding))
      piece.add('cannot-tell.encoding', comment);
  }
}
