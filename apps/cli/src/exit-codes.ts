/** What a script can tell apart; the README explains each, and `secbox --help` lists them. */
export const exitCodes = {
  good: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  bug: 70,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export const exitMeanings: readonly (readonly [ExitCode, string])[] = [
  [exitCodes.good, 'it went well'],
  [exitCodes.failed, 'it ran and did not: a program failed, a check found something'],
  [exitCodes.usage, 'the command line or the inputs are wrong'],
  [exitCodes.refused, 'the server was not reached, or refused'],
  [exitCodes.bug, 'an error of this program'],
  [exitCodes.interrupted, 'interrupted; what ran was cancelled'],
];

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something that whoever typed it can do something about; no stack trace. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';

  constructor(
    message: string,
    readonly exitCode: ExitCode = exitCodes.failed,
  ) {
    super(message);
  }
}
