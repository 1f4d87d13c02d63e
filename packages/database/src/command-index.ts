import type { ExecSubmission } from '@secbox/contracts';
import { sql, type RawBuilder } from 'kysely';

/** Of a longer command only so many characters are searched: each costs time in the one thread that writes. */
export const searchedCharacters = 65_536;

/** Adds a command to the index of its every three characters. */
export function indexCommand(seq: number, { cmd, args }: ExecSubmission): RawBuilder<unknown> {
  const command = [cmd, ...args].join(' ').slice(0, searchedCharacters);
  return sql`insert into sandbox_exec_commands (rowid, command) values (${seq}, ${command})`;
}

/** Text as one phrase of the index's query language, in which nothing but a quote is special. */
export function phraseOf(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
