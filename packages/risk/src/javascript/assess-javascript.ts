import type { Piece } from '../piece.js';
import { childOf, textOf, type SyntaxNode } from '../syntax/node.js';
import { assessCall, assessModule, assessReference } from './assess-use.js';
import { collectNames, plainString } from './bindings.js';
import { Evaluator } from './evaluate.js';

/** Looks at every expression of a program, wherever it stands, for what it names and calls. */
export function assessJavascript(piece: Piece): void {
  const { tree } = piece;
  const evaluator = new Evaluator(piece, collectNames(tree));

  const visit = (node: SyntaxNode, parent: SyntaxNode | undefined): void => {
    if (!piece.spend()) return;
    switch (node.type) {
      case 'import_statement':
      case 'export_statement': {
        const module = plainString(tree, childOf(node, 'source'));
        if (module !== undefined) assessModule(piece, module, node);
        break;
      }
      case 'call_expression':
      case 'new_expression':
        assessCall(piece, evaluator, node);
        // What Reflect.get and the like give back is handed on as a name would be.
        if (isBare(node, parent)) assessReference(piece, evaluator, node, isHandedOn(node, parent));
        break;
      case 'member_expression':
      case 'subscript_expression':
      case 'identifier':
      case 'shorthand_property_identifier':
        if (isBare(node, parent)) assessReference(piece, evaluator, node, isHandedOn(node, parent));
        break;
      case 'await_expression':
      case 'parenthesized_expression':
        if (isHandedOn(node, parent)) assessReference(piece, evaluator, node, true);
        break;
      case 'html_comment':
        // Only scripts know this comment; a module would read it as code.
        if (!textOf(tree, node).startsWith('<!--') && !textOf(tree, node).startsWith('-->')) return;
        break;
      default:
    }
    for (const child of node.children) if (child.named) visit(child, node);
  };
  visit(tree.root, undefined);
}

/** Whether who gets it can call it: by an argument, a result or a part of something, not by a name of its own. */
function isHandedOn(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (!parent) return false;
  if (parent.type === 'assignment_expression')
    return (
      node.field === 'right' && /^(subscript|member)_expression$/.test(childOf(parent, 'left')?.type ?? '')
    );
  // To compare something is to hand it to nobody.
  if (parent.type === 'binary_expression')
    return /^(\|\||&&|\?\?)$/.test(childOf(parent, 'operator')?.type ?? '');
  return handing.has(parent.type);
}

const handing = new Set([
  'arguments',
  'return_statement',
  'yield_expression',
  'arrow_function',
  'array',
  'pair',
  'object',
  'spread_element',
  'ternary_expression',
  'sequence_expression',
  'throw_statement',
  'for_in_statement',
  'field_definition',
  'with_statement',
]);

const bindingParents = new Set([
  'import_specifier',
  'import_clause',
  'namespace_import',
  'formal_parameters',
  'function_declaration',
  'class_declaration',
]);

/** Whether an expression is handed on, rather than called, bound to a name or looked into. */
function isBare(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (!parent) return false;
  if (node.field === 'function' || node.field === 'constructor') return false;
  if (node.field === 'object' && /^(member|subscript)_expression$/.test(parent.type)) return false;
  if (bindingParents.has(parent.type)) return false;
  return !(
    (node.field === 'name' || node.field === 'left') &&
    /declarator|assignment|for_in/.test(parent.type)
  );
}
