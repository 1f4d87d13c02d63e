import { readFileSync } from 'node:fs';
import { assessedLanguages, type AssessedLanguage } from '../language.js';
import { riskLevels, type RiskLevel } from '../level.js';

export interface Snippet {
  readonly id: string;
  readonly language: AssessedLanguage;
  readonly level: RiskLevel;
  readonly disguise: boolean;
  readonly heldOut: boolean;
  readonly code: string;
}

/** Reads corpus/*.txt; README.md there says how they are written. */
export function readCorpus(): readonly Snippet[] {
  return assessedLanguages.flatMap((language) => {
    const file = new URL(`../../corpus/${language}.txt`, import.meta.url);
    const [before = '', ...blocks] = readFileSync(file, 'utf8').split(/^=== /m);
    if (before.trim() !== '') throw new Error(`${language}.txt begins with no snippet.`);
    return blocks.map((block) => snippetOf(language, block));
  });
}

function snippetOf(language: AssessedLanguage, block: string): Snippet {
  const end = block.indexOf('\n');
  const [id = '', level = '', kind = '', held] = block.slice(0, end).split(' | ');
  const known = riskLevels.find((one) => one === level);
  if (!known || !/^(plain|disguise)$/.test(kind) || (held !== undefined && held !== 'held-out')) {
    throw new Error(`The first line of ${id} in ${language}.txt is not understood.`);
  }
  const code = block.slice(end + 1).replace(/\n+$/, '');
  return { id, language, level: known, disguise: kind === 'disguise', heldOut: held !== undefined, code };
}
