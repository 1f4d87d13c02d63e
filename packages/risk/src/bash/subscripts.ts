import { expandText } from '../commands/environment.js';
import type { Piece } from '../piece.js';
import { textOf, type SyntaxNode } from '../syntax/node.js';

/** A substitution in the subscript of a name: `a[$(…)]`. Bounded, as texts are whatever someone sent. */
const substituting = /\w\[[^\]\n]{0,200}(\$\(|`)/;

/**
 * Where the shell computes, it reads texts as expressions: `let`, `[[ -v … ]]`, `((x))` and others run the substitutions in
 * the subscripts of `'a[$(…)]'`, quoted as it is. Which of them a text comes to is not followed.
 */
export function assessSubscripts(piece: Piece): void {
  const { tree } = piece;
  if (!substituting.test(tree.text)) return;
  const visit = (node: SyntaxNode): void => {
    const isText = node.type === 'raw_string' || node.type === 'ansi_c_string';
    if (isText || node.type === 'string_content') {
      const text = textOf(tree, node);
      // Inside of double quotes what has no backslash was expanded where it stands.
      if (substituting.test(text)) expandText(piece, text.replaceAll('\\', ''), node);
      return;
    }
    for (const child of node.children) if (child.named) visit(child);
  };
  visit(tree.root);
}
