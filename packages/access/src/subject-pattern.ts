/** Whether a text fits one of the patterns, in which `*` stands for any text, the empty one too. */
export function matchesAny(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matches(pattern, text));
}

/** Piece by piece from the left, as early as each fits: no pattern takes longer than its length times the text's. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false;
  let at = first.length;
  const end = text.length - last.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
