const mostKept = 4096;
const longestKey = 200;

/**
 * The same function, which looks up what it has worked out before: code names the same few things again and again. For
 * functions whose result depends on the text alone. What it keeps is bounded, whatever it is asked.
 */
export function remembered<Result>(work: (text: string) => Result): (text: string) => Result {
  const kept = new Map<string, { readonly result: Result }>();
  return (text) => {
    const known = kept.get(text);
    if (known) return known.result;
    const result = work(text);
    if (text.length > longestKey) return result;
    if (kept.size >= mostKept) kept.clear();
    kept.set(text, { result });
    return result;
  };
}
