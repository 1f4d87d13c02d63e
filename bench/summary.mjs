/**
 * @typedef {object} Summary
 * @property {string} name
 * @property {number} p50 in milliseconds
 * @property {number} p95
 */

/**
 * @param {string} name
 * @param {readonly number[]} times
 * @returns {Summary}
 */
export function summarize(name, times) {
  const [p50 = Number.NaN, p95 = Number.NaN] = percentiles(times, [0.5, 0.95]);
  return { name, p50, p95 };
}

/**
 * @param {readonly number[]} times
 * @param {readonly number[]} shares such as 0.95
 * @returns {number[]}
 */
export function percentiles(times, shares) {
  const sorted = [...times].sort((a, b) => a - b);
  return shares.map((share) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN),
  );
}

/** @param {readonly Summary[]} summaries */
export function tableOf(summaries) {
  const rows = summaries.map(({ name, p50, p95 }) => `| ${name.padEnd(16)} | ${pad(p50)} | ${pad(p95)} |`);
  return [`| ${''.padEnd(16)} |   p50 ms |   p95 ms |`, '| --- | --- | --- |', ...rows].join('\n');
}

/**
 * @param {number} ours
 * @param {number} theirs
 */
export function ratio(ours, theirs) {
  return Math.round((ours / theirs) * 100) / 100;
}

/** @param {number} ms */
function round(ms) {
  return Math.round(ms * 10) / 10;
}

/** @param {number} ms */
function pad(ms) {
  return ms.toFixed(1).padStart(8);
}
