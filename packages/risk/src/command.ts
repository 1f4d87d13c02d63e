import { codeOption } from './commands/interpreter-options.js';
import { languageOf } from './commands/interpreters.js';
import { isKnownPlace } from './commands/known-place.js';
import type { Question } from './threads/message.js';

export interface CommandFiles {
  /** What files hold that the command may run as a script, by the path it names. */
  readonly files?: ReadonlyMap<string, string>;
  /** What the command is handed on its stdin. */
  readonly stdin?: string;
}

/**
 * What to assess for the words of an exec. Where they do no more than hand code to an interpreter, that is the code
 * itself with what it is started with, so that lines are told as its author counts them.
 */
export function questionOf(argv: readonly string[], { files, stdin }: CommandFiles = {}): Question {
  const [program = '', first = '', second, ...rest] = argv;
  const language = isKnownPlace(program) ? languageOf(program) : undefined;
  const input = stdin === undefined ? {} : { stdin };
  // A shell takes more options behind -c, node behind its code; then all of the words are looked at.
  const isLast = !/^[-+]/.test(second ?? '') && !(language === 'javascript' && rest[0]?.startsWith('-'));
  if (language && second !== undefined && codeOption(language, first) && isLast)
    return { kind: 'code', language, code: second, args: rest.slice(1), ...input };
  const code = files?.get(first);
  if (language && code !== undefined) return { kind: 'code', language, code, args: argv.slice(2), ...input };
  return { kind: 'command', words: argv, ...input };
}
