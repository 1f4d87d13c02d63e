import { SecboxError } from '@secbox/contracts';
import { allowedCommands, type AllowedCommand, isAllowedCommand } from './allowed-commands.js';
import { guardArgument } from './guard-argument.js';
import type { CommandPlace } from './command-place.js';

/** What is run, as it is: no shell comes between. */
export interface GuardedCommand {
  readonly command: AllowedCommand;
  readonly args: readonly string[];
}

const mostArguments = 1_000;
const longestArgument = 128 * 1024;
const mostBytes = 512 * 1024;

/**
 * Takes a command of the list with arguments that stay in their folder. It is advice against mistakes: a script may
 * name any path, and the container is what holds it.
 */
export function guardCommand(command: unknown, args: unknown, place: CommandPlace): GuardedCommand {
  if (typeof command !== 'string' || command === '') {
    throw new SecboxError('invalid_request', 'command must be the name of a command.', {
      details: { field: 'command' },
    });
  }
  if (!isAllowedCommand(command)) {
    throw new SecboxError('command_refused', 'The command is not on the list of those that may be run.', {
      details: { field: 'command', allowed: allowedCommands },
    });
  }
  return { command, args: checkedList(args).map((argument, index) => guardArgument(argument, index, place)) };
}

/** Nothing sent is no arguments. */
function checkedList(args: unknown): readonly string[] {
  if (args === undefined || args === null) return [];
  const refuse = (why: string) =>
    new SecboxError('invalid_request', `The arguments must be ${why}.`, { details: { field: 'args' } });
  if (!Array.isArray(args)) throw refuse('a list of texts');
  if (args.length > mostArguments) throw refuse(`at most ${mostArguments}`);
  const list = args as readonly unknown[];
  let bytes = 0;
  for (const argument of list) {
    if (typeof argument !== 'string') throw refuse('texts');
    if (argument.includes('\0') || /\p{Cs}/u.test(argument))
      throw refuse('texts without NUL or broken Unicode');
    const length = Buffer.byteLength(argument);
    bytes += length;
    if (length > longestArgument || bytes > mostBytes) {
      throw refuse(`at most ${longestArgument} bytes each and ${mostBytes} together`);
    }
  }
  return list as readonly string[];
}
