import type { AssessedLanguage } from './language.js';
import type { RiskLevel } from './level.js';
import type { RuleId } from './rules/catalogue.js';

export interface Finding {
  readonly rule: RuleId;
  readonly level: RiskLevel;
  /** Both from 1, in the code that was handed in; the column counts UTF-16 units. */
  readonly line: number;
  readonly column: number;
  /** What was found there: cut to a bounded length, control characters escaped. Not redacted. */
  readonly excerpt: string;
  readonly why: string;
  /** For code inside code: the language it was read as. Line and column are those of what holds it. */
  readonly within?: AssessedLanguage;
}

/** Advice, never a boundary: what is SAFE here may still do harm, so the sandbox stays what holds it. */
export interface RiskAssessment {
  readonly level: RiskLevel;
  /** In order of their place; a bounded number of them, the gravest kept. */
  readonly findings: readonly Finding[];
  /** How many findings there were beyond those listed. */
  readonly omitted: number;
  /** False where something that runs was not looked at, for whatever reason: then the level is MEDIUM at least. */
  readonly complete: boolean;
}
