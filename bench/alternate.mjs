const WARM_UP = 3;

/**
 * @param {Record<string, () => Promise<number | void>>} contestants
 * @param {number} runs
 * @returns {Promise<Record<string, number[]>>} milliseconds
 */
export async function alternate(contestants, runs) {
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let n = -WARM_UP; n < runs; n += 1) {
    for (const [name, contestant] of Object.entries(contestants)) {
      const start = performance.now();
      // One that has something to do before and after its turn says itself how long that took.
      const told = await contestant();
      if (n >= 0) times[name]?.push(told ?? performance.now() - start);
    }
  }
  return times;
}
