import { ApiError, ConnectionError } from '@secbox/client';
import { nearest } from '@secbox/skill-manifest';
import { helpOf, readCall, type Command } from './command.js';
import { commands } from './commands.js';
import { CommandFailure, exitCodes, exitMeanings, UsageError, type ExitCode } from './exit-codes.js';
import type { Surroundings } from './surroundings.js';
import { oneLine, plainLines, tableText } from './terminal.js';

/** The command line of Secbox. Gives the exit code; whatever goes wrong has been told. */
export async function secbox(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { terminal, stopped } = surroundings;
  try {
    return await dispatch(args, surroundings);
  } catch (error) {
    if (stopped.aborted) {
      terminal.note('Interrupted.');
      return exitCodes.interrupted;
    }
    const { text, exitCode } = described(error);
    terminal.note(`${terminal.noted('red', 'secbox:')} ${plainLines(text)}`);
    return exitCode;
  } finally {
    terminal.end();
  }
}

async function dispatch(args: readonly string[], surroundings: Surroundings): Promise<ExitCode> {
  const { terminal } = surroundings;
  const [first = '', ...rest] = args;
  if (first === 'help') return dispatch([...rest, '--help'], surroundings);
  if (first === '' || first === '--help' || first === '-h') {
    terminal.result(helpOfAll(commands));
    return first === '' ? exitCodes.usage : exitCodes.good;
  }
  const command = commands.find(({ name }) => startsWith(args, name.split(' ')));
  if (command) {
    const call = readCall(command, args.slice(command.name.split(' ').length));
    if (!call.flag('help')) return command.run(call, surroundings);
    terminal.result(helpOf(command));
    return exitCodes.good;
  }
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length === 0)
    throw unknown(first, [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]);
  const [second = '--help'] = rest;
  if (second !== '--help' && second !== '-h') {
    throw unknown(
      `${first} ${second}`,
      group.map(({ name }) => name),
    );
  }
  terminal.result(helpOfAll(group));
  return rest.length === 0 ? exitCodes.usage : exitCodes.good;
}

function startsWith(args: readonly string[], words: readonly string[]): boolean {
  return words.every((word, index) => args[index] === word);
}

function unknown(written: string, names: readonly string[]): UsageError {
  const meant = nearest(written, names);
  const hint = meant === undefined ? `There are: ${names.join(', ')}.` : `Did you mean "${meant}"?`;
  return new UsageError(`There is no command "${written}". ${hint}`);
}

function helpOfAll(listed: readonly Command[]): string {
  return [
    'Usage: secbox <command> [options]',
    '',
    tableText(listed.map(({ name, words, summary }) => [`  ${name} ${words}`.trimEnd(), summary])),
    '',
    '"secbox <command> --help" says more of one.',
    '',
    'Exit codes:',
    tableText(exitMeanings.map(([code, meaning]) => [`  ${code}`.padEnd(5), meaning])),
    '',
  ].join('\n');
}

function described(error: unknown): { readonly text: string; readonly exitCode: ExitCode } {
  if (error instanceof UsageError) return { text: error.message, exitCode: exitCodes.usage };
  if (error instanceof CommandFailure) return { text: error.message, exitCode: error.exitCode };
  if (error instanceof ConnectionError) {
    return { text: `${error.message}\n"secbox doctor" may know why.`, exitCode: exitCodes.refused };
  }
  if (error instanceof ApiError) {
    const exitCode =
      error.kind === 'invalid' || error.kind === 'not_found' ? exitCodes.usage : exitCodes.refused;
    const text = [oneLine(`${error.message} (${error.code})`), ...problemsIn(error)].join('\n');
    return { text, exitCode };
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { text: `this is a bug, please report it:\n${text}`, exitCode: exitCodes.bug };
}

function problemsIn({ details }: ApiError): string[] {
  const problems = details?.['problems'];
  if (!Array.isArray(problems)) return [];
  return (problems as { pointer?: string; message?: string; expected?: string }[]).map(
    ({ pointer = '', message = '', expected }) =>
      `  ${oneLine(`${pointer} ${message}${expected === undefined ? '' : `; expected ${expected}`}`)}`,
  );
}
