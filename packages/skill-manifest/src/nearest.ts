/** The one of some words that a misspelt one most likely stands for; undefined when none is near. */
export function nearest(word: string, words: Iterable<string>): string | undefined {
  const written = word.slice(0, mostCompared).toLowerCase();
  let best: { readonly word: string; readonly distance: number } | undefined;
  for (const candidate of words) {
    const distance = editDistance(written, candidate.toLowerCase());
    if (distance > Math.max(1, Math.floor(candidate.length / 3))) continue;
    if (!best || distance < best.distance) best = { word: candidate, distance };
  }
  return best?.word;
}

const mostCompared = 64;

/** How many letters to add, drop, change or swap with a neighbour. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + change);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
