import type { SyntaxNode, SyntaxTree } from './node.js';

/** Deeper trees are refused: whoever walks them does so by recursion. */
export const maxDepth = 600;
export const maxNodes = 400_000;

export type Parsed = SyntaxTree | 'too-complex';

/** Ids of node types as the parser counts them; this one stands for what it could not make sense of. */
export const errorType = 65_535;

/** How much of a node is worth copying: of a comma only that it is there; of a name or number no children. */
export type Shape = 'whole' | 'leaf' | 'token' | 'mark';

const leaves =
  /^(identifier|integer|float|number|string_fragment|string_start|string_end|escape_sequence|property_identifier|shorthand_property_identifier(_pattern)?|variable_name|special_variable_name|raw_string|comment|true|false|none|null|this|heredoc_start|heredoc_end|heredoc_content|file_descriptor|test_operator|regex_pattern|regex_flags)$/;

export function shapeOf(type: string, named: boolean, isBash: boolean): Shape {
  if (named) return leaves.test(type) ? 'leaf' : 'whole';
  // Where a quote or a brace stands matters in bash alone.
  return !isBash && /^[(){}[\],;:.'"`]+$/.test(type) ? 'mark' : 'token';
}

/** The names of a language's types and fields by the parser's ids. */
export interface Vocabulary {
  readonly types: readonly string[];
  readonly fields: readonly (string | null)[];
  readonly shapes: readonly Shape[];
  /** The one node that stands for each mark, wherever it is. */
  readonly marks: readonly Building[];
}

/** A node whose children are still to come. */
export interface Building extends SyntaxNode {
  children: Building[];
}

export const childless: Building[] = [];

export function markOf(type: string): Building {
  return { id: -1, type, field: '', start: 0, end: 0, named: false, children: childless };
}
