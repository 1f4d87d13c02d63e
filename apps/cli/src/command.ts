import { parseArgs } from 'node:util';
import type { ExitCode } from './exit-codes.js';
import { UsageError } from './exit-codes.js';
import type { Surroundings } from './surroundings.js';
import { tableText } from './terminal.js';

export interface CommandOption {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** What stands for its value in the help. */
  readonly value?: string;
  readonly help: string;
}

export interface Call {
  /** The words that are no options. */
  readonly words: readonly string[];
  text(name: string): string | undefined;
  texts(name: string): readonly string[];
  flag(name: string): boolean;
  /** A whole number from `least` on. */
  number(name: string, least: number): number | undefined;
}

export interface Command {
  /** `skill lint`. */
  readonly name: string;
  /** What comes after it, besides options. */
  readonly words: string;
  readonly summary: string;
  readonly details?: string;
  readonly options: Readonly<Record<string, CommandOption>>;
  readonly run: (call: Call, surroundings: Surroundings) => Promise<ExitCode>;
}

export const helpOption = { help: { type: 'boolean', help: 'show this' } } as const;

/** Throws when it is not as the command takes it. */
export function readCall({ options }: Command, args: readonly string[]): Call {
  const values = { ...options, ...helpOption } as Readonly<Record<string, CommandOption>>;
  const parsed = parse(args, values);
  const text = (name: string) => {
    const value = parsed.values[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    words: parsed.positionals,
    text,
    texts: (name) => {
      const value = parsed.values[name];
      return Array.isArray(value) ? value.map(String) : [];
    },
    flag: (name) => parsed.values[name] === true,
    number: (name, least) => {
      const written = text(name);
      if (written === undefined) return undefined;
      const value = Number(written);
      if (/^\d{1,15}$/.test(written) && value >= least) return value;
      throw new UsageError(
        `--${name} takes a whole number from ${least} on, not ${JSON.stringify(written)}.`,
      );
    },
  };
}

function parse(args: readonly string[], options: Readonly<Record<string, CommandOption>>) {
  const known = Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple = false }]) => [
      name,
      { type, multiple, ...(name === 'help' ? { short: 'h' } : {}) },
    ]),
  );
  try {
    return parseArgs({ args: [...args], options: known, allowPositionals: true });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new UsageError(message.split('. To specify')[0] ?? message);
  }
}

export function helpOf({ name, words, summary, details, options }: Command): string {
  const rows = Object.entries({ ...options, ...helpOption } as Record<string, CommandOption>).map(
    ([option, { value, help, multiple = false }]) => [
      `  --${option}${value === undefined ? '' : ` ${value}`}`,
      `${help}${multiple ? '; may be repeated' : ''}`,
    ],
  );
  return [
    `Usage: secbox ${name}${words === '' ? '' : ` ${words}`} [options]`,
    '',
    `${summary}.`,
    ...(details === undefined ? [] : ['', details.trim()]),
    '',
    tableText(rows),
    '',
  ].join('\n');
}
