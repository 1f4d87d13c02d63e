import type { RiskAssessment } from '../assessment.js';
import type { AssessedLanguage } from '../language.js';

/** What a thread is asked: code in a language, or the words of a command with the files it may run. */
export type Question =
  | {
      readonly kind: 'code';
      readonly language: AssessedLanguage;
      readonly code: string;
      /** What it is started with; absent when nobody knows. */
      readonly args?: readonly string[];
      readonly stdin?: string;
    }
  | { readonly kind: 'command'; readonly words: readonly string[]; readonly stdin?: string };

/** `ready` once, when it is as fast as it gets; afterwards one answer to each question. */
export type Reply =
  { readonly kind: 'ready' } | { readonly kind: 'assessed'; readonly assessment: RiskAssessment };
