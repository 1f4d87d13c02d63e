import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { assessCode } from './assess-code.js';
import { isAtLeast, riskLevels, type RiskLevel } from './level.js';
import { loadParses, type Parse } from './syntax/parse.js';
import { readCorpus, type Snippet } from './testing/corpus.js';

interface Judged extends Snippet {
  readonly got: RiskLevel;
}

const corpus = readCorpus();
let judged: readonly Judged[];

beforeAll(async () => {
  const parse: Parse = (await loadParses()).parse;
  judged = corpus.map((snippet) => ({
    ...snippet,
    got: assessCode(parse, snippet.language, snippet.code).level,
  }));
});

/** Of those rated so, how many are; of those that are so, how many were rated so. */
function figures(snippets: readonly Judged[], level: RiskLevel) {
  const rated = snippets.filter(({ got }) => got === level);
  const actual = snippets.filter((snippet) => snippet.level === level);
  const right = rated.filter((snippet) => snippet.level === level).length;
  return {
    count: actual.length,
    precision: rated.length === 0 ? 1 : right / rated.length,
    recall: actual.length === 0 ? 1 : right / actual.length,
  };
}

function table(title: string, snippets: readonly Judged[]): string {
  const rows = riskLevels.map((level) => {
    const { count, precision, recall } = figures(snippets, level);
    return `${level.padEnd(9)} ${String(count).padStart(5)} ${precision.toFixed(3).padStart(10)} ${recall.toFixed(3).padStart(7)}`;
  });
  const wrong = snippets
    .filter(({ level, got }) => level !== got)
    .map(({ id, level, got }) => `  ${id} is ${level}, was rated ${got}`);
  return [
    `${title}: ${snippets.length} snippets`,
    'level     count  precision  recall',
    ...rows,
    ...wrong,
  ].join('\n');
}

/** As docs/risk.md has it: of each level those that the rules were made with, then those that were held out. */
function documented(level: RiskLevel): readonly string[] {
  const cells = [false, true].flatMap((heldOut) => {
    const { count, precision, recall } = figures(
      judged.filter((snippet) => snippet.heldOut === heldOut),
      level,
    );
    return [String(count), precision.toFixed(2), recall.toFixed(2)];
  });
  return [level, ...cells];
}

describe('the corpus', () => {
  test('has what it needs: 150 snippets, 50 disguises, each language and level, a quarter held out', () => {
    expect(corpus.length).toBeGreaterThanOrEqual(150);
    expect(corpus.filter(({ disguise }) => disguise).length).toBeGreaterThanOrEqual(50);
    expect(corpus.filter(({ heldOut }) => heldOut).length).toBeGreaterThanOrEqual(corpus.length / 4);
    expect(new Set(corpus.map(({ id }) => id)).size).toBe(corpus.length);
    for (const language of ['python', 'bash', 'javascript']) {
      for (const level of riskLevels) {
        expect(corpus.some((snippet) => snippet.language === language && snippet.level === level)).toBe(true);
      }
    }
  });

  test('docs/risk.md tells its size, and precision and recall of each level', () => {
    const page = readFileSync(new URL('../../../docs/risk.md', import.meta.url), 'utf8');
    const rows = page
      .split('\n')
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      )
      .filter(([level, count = '']) => riskLevels.some((known) => known === level) && /^\d+$/.test(count));
    expect(rows).toEqual(riskLevels.map(documented));
    const disguises = corpus.filter(({ disguise }) => disguise).length;
    expect(page).toContain(
      `${corpus.length} snippets of \`packages/risk/corpus\`, of which ${disguises} are disguises`,
    );
  });

  test('no dangerous snippet is rated below MEDIUM, so none SAFE', () => {
    const dangerous = judged.filter(({ level }) => isAtLeast(level, 'HIGH'));
    expect(dangerous.filter(({ got }) => !isAtLeast(got, 'MEDIUM')).map(({ id }) => id)).toEqual([]);
  });

  test('nothing above LOW is rated SAFE', () => {
    const missed = judged.filter(({ level, got }) => isAtLeast(level, 'MEDIUM') && got === 'SAFE');
    expect(missed.map(({ id }) => id)).toEqual([]);
  });

  test.each([
    ['tuned', false, 0.95],
    ['held out', true, 0.7],
  ] as const)('precision and recall of each level, %s', (title, heldOut, floor) => {
    const snippets = judged.filter((snippet) => snippet.heldOut === heldOut);
    process.stdout.write(`\n${table(title, snippets)}\n`);
    for (const level of riskLevels) {
      const { precision, recall } = figures(snippets, level);
      expect(Math.min(precision, recall)).toBeGreaterThanOrEqual(floor);
    }
  });
});
