import type { AssessedLanguage } from '../language.js';
import type { RiskLevel } from '../level.js';

export interface Example {
  readonly language: AssessedLanguage;
  /** Code that the rule must find, and code much like it that it must not. */
  readonly finds: string;
  readonly passes: string;
}

export interface Rule {
  readonly level: RiskLevel;
  /** What the code does, in a few words. */
  readonly title: string;
  readonly why: string;
  /** Absent where no piece of code alone makes the rule speak, such as a full queue: tests of their own show those. */
  readonly example?: Example;
}
