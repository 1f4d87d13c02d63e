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
  const sorted = [...times].sort((a, b) => a - b);
  /** @param {number} share */
  const at = (share) =>
    round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN);
  return { name, p50: at(0.5), p95: at(0.95) };
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
