import type { Tree } from 'web-tree-sitter';
import {
  childless,
  errorType,
  maxDepth,
  maxNodes,
  type Building,
  type Parsed,
  type Vocabulary,
} from './grammar.js';

/**
 * Copies a tree out of the parser's memory node by node, by the calls that the parser offers for it. Iterative, as the
 * depth is whatever someone sent.
 */
export function walkTree(tree: Tree, { types, shapes, fields, marks }: Vocabulary, text: string): Parsed {
  const cursor = tree.walk();
  const read = (id: number): Building => {
    const symbol = cursor.nodeTypeId;
    const shape = shapes[symbol] ?? 'whole';
    const mark = shape === 'mark' ? marks[symbol] : undefined;
    if (mark) return mark;
    const field = cursor.currentFieldId;
    return {
      id,
      type: symbol === errorType ? 'ERROR' : (types[symbol] ?? ''),
      field: field === 0 ? '' : (fields[field] ?? ''),
      start: cursor.startIndex,
      end: cursor.endIndex,
      named: shape !== 'token',
      children: childless,
    };
  };
  try {
    const root = read(0);
    const open: Building[] = [root];
    let error = root.type === 'ERROR' ? root : undefined;
    let count = 0;
    let at = root;
    let down = cursor.gotoFirstChild();
    for (;;) {
      if (down) {
        if (open.length > maxDepth || ++count > maxNodes) return 'too-complex';
        const child = read(count);
        if (at.children === childless) at.children = [child];
        else at.children.push(child);
        if (child.type === 'ERROR') error ??= child;
        if ((shapes[cursor.nodeTypeId] ?? 'whole') === 'whole' && cursor.gotoFirstChild()) {
          open.push(child);
          at = child;
          continue;
        }
      }
      if (cursor.gotoNextSibling()) {
        down = true;
        continue;
      }
      open.pop();
      const parent = open.at(-1);
      if (!parent || !cursor.gotoParent()) break;
      at = parent;
      down = false;
    }
    // A token that the grammar made up to go on leaves no ERROR node behind.
    if (!error && tree.rootNode.hasError) error = root;
    return { text, root, size: count + 1, error };
  } finally {
    cursor.delete();
  }
}
