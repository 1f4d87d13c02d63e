import { hole } from '../place.js';
import type { SyntaxNode, SyntaxTree } from '../syntax/node.js';

const maxWords = 64;

/**
 * `{rm,-rf,/}` is one word that becomes three, but the grammar takes its brace for the begin of a group. Groups have a
 * space behind their brace.
 */
export function bracedWord(tree: SyntaxTree, brace: SyntaxNode): readonly string[] | undefined {
  const after = tree.text.slice(brace.start + 1, brace.start + 2);
  if (brace.type !== '{' || /[\s(]/.test(after) || after === '') return undefined;
  const word = /^[^\s;|&<>]+/.exec(tree.text.slice(brace.start, brace.start + 4096))?.[0] ?? '';
  return word.includes(',') ? expandBraces(word) : undefined;
}

/** `a{b,c}` is `ab ac`; the first braces with a comma, then what is left. */
export function expandBraces(word: string): readonly string[] {
  const match = /^([^{}]*)\{([^{}]*,[^{}]*)\}([\s\S]*)$/.exec(word);
  if (!match) return [word];
  const [, before = '', choices = '', after = ''] = match;
  const words = choices.split(',').flatMap((choice) => expandBraces(`${before}${choice}${after}`));
  return words.length > maxWords ? [...words.slice(0, maxWords), hole] : words;
}
