/** A node of a parsed text, copied out of the parser's memory once: what we do with it costs no calls into wasm. */
export interface SyntaxNode {
  /** Its number in its tree, from the root's 0 on; -1 of marks such as a comma, which are all one node. */
  readonly id: number;
  readonly type: string;
  /** What the node is to its parent, such as `function` of a call; empty if nothing in particular. */
  readonly field: string;
  readonly start: number;
  readonly end: number;
  readonly named: boolean;
  readonly children: readonly SyntaxNode[];
}

export interface SyntaxTree {
  readonly text: string;
  readonly root: SyntaxNode;
  /** How many nodes it has: their ids are below. */
  readonly size: number;
  /** The first place that the grammar could not make sense of. */
  readonly error: SyntaxNode | undefined;
}

export function textOf(tree: SyntaxTree, node: SyntaxNode): string {
  return tree.text.slice(node.start, node.end);
}

export function childOf(node: SyntaxNode | undefined, field: string): SyntaxNode | undefined {
  if (node) for (const child of node.children) if (child.field === field) return child;
  return undefined;
}

export function childrenOf(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  return node.children.filter((child) => child.field === field);
}

export function namedChildren(node: SyntaxNode | undefined): readonly SyntaxNode[] {
  return node?.children.filter((child) => child.named && child.type !== 'comment') ?? [];
}

export function descendantOf(node: SyntaxNode, type: string): SyntaxNode | undefined {
  const open = [...node.children];
  for (let next = open.pop(); next; next = open.pop()) {
    if (next.type === type) return next;
    open.push(...next.children);
  }
  return undefined;
}
