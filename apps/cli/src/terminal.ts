import { createInterface, type Interface } from 'node:readline';
import { pipeline } from 'node:stream/promises';
import { UsageError } from './exit-codes.js';

export interface TerminalOptions {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Whether whoever looks wants no colours. */
  readonly plain: boolean;
}

const styles = { bold: '1', dim: '2', red: '31', green: '32', yellow: '33' } as const;
type Style = keyof typeof styles;

/** Results go to stdout, for programs; all that is said to people goes to stderr. */
export class Terminal {
  readonly #options: TerminalOptions;
  /** Whether a line is there that is to be drawn over. */
  #drawn = false;
  #answers: Answers | undefined;

  constructor(options: TerminalOptions) {
    this.#options = options;
  }

  /** Whether there is someone who can answer. */
  get asks(): boolean {
    return this.#options.stdin.isTTY && this.#options.stderr.isTTY;
  }

  get stdin(): NodeJS.ReadStream {
    return this.#options.stdin;
  }

  /** For tables: undefined where nobody looks. */
  get columns(): number | undefined {
    return this.#options.stdout.isTTY ? this.#options.stdout.columns : undefined;
  }

  result(text: string): void {
    this.#clear();
    this.#options.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
  }

  /** Exactly these bytes. */
  bytes(data: Uint8Array, to: 'stdout' | 'stderr'): void {
    this.#clear();
    this.#options[to].write(data);
  }

  /** All of them to stdout, at the pace of whoever reads it. */
  async pour(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    this.#clear();
    await pipeline(chunks, this.#options.stdout, { end: false });
  }

  note(text: string): void {
    this.#clear();
    this.#options.stderr.write(`${text}\n`);
  }

  /** How far it is: one line that changes, on a terminal only. */
  progress(text: string): void {
    const { stderr } = this.#options;
    if (!stderr.isTTY) return;
    const width = Math.max(20, (stderr.columns || 80) - 1);
    stderr.write(`\r\u001b[K${this.#paint(stderr, 'dim', oneLine(text).slice(0, width))}`);
    this.#drawn = true;
  }

  /** For what goes to stdout. */
  styled(style: Style, text: string): string {
    return this.#paint(this.#options.stdout, style, text);
  }

  /** For what is noted. */
  noted(style: Style, text: string): string {
    return this.#paint(this.#options.stderr, style, text);
  }

  /** Who types ahead is heard, too. */
  async ask(question: string): Promise<string> {
    this.#answers ??= new Answers(this.#options.stdin);
    this.#options.stderr.write(question);
    const answer = await this.#answers.next();
    if (answer === undefined) throw new UsageError('There was no answer.');
    return answer.trim();
  }

  end(): void {
    this.#clear();
    this.#answers?.close();
  }

  #clear(): void {
    if (this.#drawn) this.#options.stderr.write('\r\u001b[K');
    this.#drawn = false;
  }

  #paint(stream: NodeJS.WriteStream, style: Style, text: string): string {
    if (this.#options.plain || !stream.isTTY) return text;
    return `\u001b[${styles[style]}m${text}\u001b[0m`;
  }
}

/** Lines as they are typed. */
class Answers {
  readonly #lines: Interface;
  readonly #typed: AsyncIterator<string>;

  constructor(input: NodeJS.ReadStream) {
    // The terminal itself shows and edits what is typed.
    this.#lines = createInterface({ input, terminal: false });
    this.#typed = this.#lines[Symbol.asyncIterator]();
  }

  async next(): Promise<string | undefined> {
    const typed = await this.#typed.next();
    return typed.done === true ? undefined : typed.value;
  }

  close(): void {
    this.#lines.close();
  }
}

const obeyed = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu;

/** What others wrote, on one line and without anything that a terminal would obey. */
export function oneLine(text: string): string {
  return text.replaceAll(obeyed, ' ').trim();
}

/** The same of what may have lines. */
export function plainLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replaceAll(obeyed, ' ').trimEnd())
    .join('\n');
}

export function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(Math.floor(Math.log10(bytes) / 3), units.length);
  return `${(bytes / 1000 ** power).toFixed(1)} ${units[power - 1] ?? ''}`;
}

/** Columns under one another; the last one is cut to what fits. */
export function tableText(rows: readonly (readonly string[])[], width = Number.POSITIVE_INFINITY): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) => {
      const line = row.map((cell, column) =>
        column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0),
      );
      return line.join('  ').slice(0, width).trimEnd();
    })
    .join('\n');
}
