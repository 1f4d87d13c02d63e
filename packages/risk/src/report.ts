import type { Finding, RiskAssessment } from './assessment.js';
import type { AssessedLanguage } from './language.js';
import { highestOf, isAtLeast, riskLevels } from './level.js';
import { rules, type RuleId } from './rules/catalogue.js';

/** Things seen anywhere in the code that mean more together than apart. */
export type Fact =
  | 'network'
  | 'socket'
  | 'credential'
  | 'shell'
  | 'redirects-streams'
  /** A module that can do harm is handed on as a whole. */
  | 'hands-on-module'
  /** Of an object that is not known, what has a name that is not known. */
  | 'computed-member';

const maxFindings = 200;
const maxExcerpt = 120;

export interface Spot {
  readonly start: number;
  readonly end: number;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** Collects what was found in one request, whatever code inside code it came from. */
export class Report {
  readonly facts = new Set<Fact>();
  readonly #findings = new Map<string, Finding>();
  #omitted = 0;
  #complete = true;

  add(rule: RuleId, at: Place, excerpt: string, within: AssessedLanguage | undefined): void {
    if (rule.startsWith('cannot-tell.')) this.#complete = false;
    const key = `${rule}:${at.line}:${at.column}:${within ?? ''}`;
    if (this.#findings.has(key)) return;
    const { level, why } = rules[rule];
    const finding = { rule, level, ...at, excerpt: excerptOf(excerpt), why, ...(within && { within }) };
    if (this.#findings.size >= maxFindings && !this.#makeRoom(finding)) return;
    this.#findings.set(key, finding);
  }

  has(rule: RuleId): boolean {
    return [...this.#findings.values()].some((finding) => finding.rule === rule);
  }

  result(): RiskAssessment {
    const findings = [...this.#findings.values()].sort(
      (a, b) => a.line - b.line || a.column - b.column || a.rule.localeCompare(b.rule),
    );
    return {
      level: highestOf(findings.map(({ level }) => level)),
      findings,
      omitted: this.#omitted,
      complete: this.#complete,
    };
  }

  /** A grave finding takes the place of a slight one, so that a flood of slight ones hides nothing. */
  #makeRoom(finding: Finding): boolean {
    this.#omitted += 1;
    for (const level of riskLevels) {
      if (isAtLeast(level, finding.level)) return false;
      for (const [key, kept] of this.#findings) {
        if (kept.level !== level) continue;
        this.#findings.delete(key);
        return true;
      }
    }
    return false;
  }
}

export function excerptOf(text: string): string {
  const cut = text.length > maxExcerpt ? `${text.slice(0, maxExcerpt - 1)}…` : text;
  if (/^[ -~]*$/.test(cut)) return cut;
  // Also marks that turn the direction of text, and halves of characters: a page or a terminal shows what is there.
  return cut.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** An assessment of code that nobody could look at. */
export function cannotTell(rule: RuleId): RiskAssessment {
  const report = new Report();
  report.add(rule, { line: 1, column: 1 }, '', undefined);
  return report.result();
}
