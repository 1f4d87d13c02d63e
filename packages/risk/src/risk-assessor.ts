import { SecboxError } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { Buffer } from 'node:buffer';
import type { RiskAssessment } from './assessment.js';
import { questionOf, type CommandFiles } from './command.js';
import { assessedLanguages, type AssessedLanguage } from './language.js';
import { cannotTell } from './report.js';
import type { Question } from './threads/message.js';
import { ThreadPool } from './threads/thread-pool.js';

export interface RiskAssessorOptions {
  readonly logger: Logger;
  /** How long looking at one piece of code may take. */
  readonly deadlineMs?: number;
  /** How long it may wait for its turn; later it is told that nobody can tell. */
  readonly waitMs?: number;
  /** Larger code is not looked at. */
  readonly maxBytes?: number;
  readonly workers?: number;
  /** How many may wait for their turn; more are told that nobody can tell. */
  readonly maxWaiting?: number;
}

export interface CodeToAssess {
  readonly language: AssessedLanguage;
  readonly code: string;
}

/** Says how dangerous code looks. It is advice: it never throws because of the code, and never takes long. */
export interface RiskAssessor {
  assess(asked: CodeToAssess): Promise<RiskAssessment>;
  /** The same for the words of a command: `bash -lc …`, `python -c …`, `python main.py`, or any other program. */
  assessCommand(argv: readonly string[], files?: CommandFiles): Promise<RiskAssessment>;
  /** Settles when the threads are up and as fast as they get, or have ended; who asks before waits for that. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

const defaults = { deadlineMs: 1000, waitMs: 10_000, maxBytes: 1024 * 1024, workers: 1, maxWaiting: 256 };

export function openRiskAssessor(options: RiskAssessorOptions): RiskAssessor {
  const { deadlineMs, waitMs, maxBytes, workers, maxWaiting } = { ...defaults, ...options };
  for (const [name, value] of Object.entries({ deadlineMs, waitMs, maxBytes, workers, maxWaiting })) {
    if (!Number.isInteger(value) || value < 1)
      throw new RangeError(`${name} is ${value}; it must be a whole number above 0.`);
  }
  const pool = new ThreadPool({ logger: options.logger, threads: workers, deadlineMs, waitMs, maxWaiting });
  const ask = async (question: Question): Promise<RiskAssessment> => {
    const left = maxBytes - sizeOf(question, maxBytes);
    if (left < 0) return cannotTell('cannot-tell.too-large');
    // Most that is handed a program on stdin is data; a program that would run it is told to run what was not seen.
    const { stdin, ...rest } = question;
    return pool.ask(stdin !== undefined && Buffer.byteLength(stdin) > left ? rest : question);
  };
  return {
    assess: async ({ language, code }) => {
      if (!assessedLanguages.includes(language)) {
        throw new SecboxError('invalid_request', `language must be one of ${assessedLanguages.join(', ')}.`);
      }
      if (typeof code !== 'string') throw new SecboxError('invalid_request', 'code must be a text.');
      return ask({ kind: 'code', language, code });
    },
    assessCommand: async (argv, files) => {
      if (!Array.isArray(argv) || argv.length === 0 || !argv.every((word) => typeof word === 'string')) {
        throw new SecboxError('invalid_request', 'argv must be a list of texts with a program as its first.');
      }
      return ask(questionOf(argv, files));
    },
    ready: () => pool.ready(),
    close: () => pool.close(),
  };
}

/** Of all but stdin, in bytes; counted no further than to what is too much. */
function sizeOf(question: Question, most: number): number {
  const texts = question.kind === 'code' ? [question.code, ...(question.args ?? [])] : question.words;
  let size = 0;
  for (const text of texts) {
    size += size > most ? 0 : Buffer.byteLength(text);
  }
  return size;
}
