import { percent } from './targets.mjs';

/** @typedef {import('./figures.mjs').Result} Result */

const HEAD = [
  '',
  'program',
  'gap ms',
  'n',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'own p50',
  'warm',
  'per s',
  'failed',
];
const TEXTS = 2;

/**
 * @param {readonly Result[]} results
 * @returns {string} one table, in Markdown
 */
export function tableOf(results) {
  const rows = results.map((result) => [
    `${result.section}: ${result.contestant}`,
    result.program,
    result.gap === undefined ? '' : String(result.gap),
    String(result.n),
    ...[result.p50, result.p95, result.p99, result.own_p50 ?? Number.NaN].map((ms) =>
      Number.isNaN(ms) ? '' : ms.toFixed(1),
    ),
    result.warm_share === undefined ? '' : percent(result.warm_share),
    result.per_second === undefined ? '' : result.per_second.toFixed(2),
    String(result.failed),
  ]);
  const widths = HEAD.map((name, column) =>
    Math.max(2, name.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((cell, column) => (column < TEXTS ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column < TEXTS ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(HEAD), line(rule), ...rows.map(line)].join('\n');
}

/** @param {readonly import('./targets.mjs').Verdict[]} verdicts */
export function verdictLines(verdicts) {
  return verdicts.map(
    ({ target, met, measured }) => `${met ? 'met   ' : 'MISSED'} ${target}\n       ${measured}`,
  );
}
