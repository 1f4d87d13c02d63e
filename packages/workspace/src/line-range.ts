import { SecboxError } from '@secbox/contracts';

/** Lines from 1, both ends included; left out, they are the first and the last. */
export interface LineRange {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

/** What bytes are read from, such as an open file. */
export interface ByteSource {
  /** How many bytes there were, from this position on; 0 at the end. */
  read(buffer: Buffer, position: number): Promise<number>;
}

const newline = 0x0a;
const carriageReturn = 0x0d;
const pieceBytes = 256 * 1024;

export function checkRange({ start, end }: LineRange): { readonly start: number; readonly end: number } {
  for (const [field, value] of Object.entries({ start, end })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      throw new SecboxError('invalid_request', `${field} must be a whole number from 1.`, {
        details: { field },
      });
    }
  }
  if (start !== undefined && end !== undefined && end < start) {
    throw new SecboxError('invalid_request', 'end must not be before start.', { details: { field: 'end' } });
  }
  return { start: start ?? 1, end: end ?? Number.MAX_SAFE_INTEGER };
}

/**
 * Puts text in the place of lines; every other byte stays. A start right behind the last line appends; one beyond that
 * is refused, as nobody could say what lies between.
 */
export function replaceLines(content: Buffer, text: string, range: LineRange): Buffer {
  const { start, end } = checkRange(range);
  const from = lineOffset(content, start);
  if (from === undefined) {
    throw new SecboxError('invalid_request', `start is behind the last line of the file.`, {
      details: { field: 'start' },
    });
  }
  const to = lineOffset(content, end + 1) ?? content.length;
  const [before, replaced, after] = [
    content.subarray(0, from),
    content.subarray(from, to),
    content.subarray(to),
  ];
  const added = Buffer.from(text);
  const opens = before.length > 0 && before.at(-1) !== newline && added.length > 0;
  const closes =
    added.length > 0 && added.at(-1) !== newline && (after.length > 0 || replaced.at(-1) === newline);
  return Buffer.concat([before, opens ? lineEnd : none, added, closes ? lineEnd : none, after]);
}

const lineEnd = Buffer.from('\n');
const none = Buffer.alloc(0);

/** Where a line begins; the end of the content for the one right behind the last. */
function lineOffset(content: Buffer, line: number): number | undefined {
  let at = 0;
  for (let n = 1; n < line; n += 1) {
    const found = content.indexOf(newline, at);
    if (found === -1) return n === line - 1 && at < content.length ? content.length : undefined;
    at = found + 1;
  }
  return at;
}

/** The lines of a file without their ends, read in pieces and no further than needed. */
export async function readLines(file: ByteSource, range: LineRange, mostBytes: number): Promise<Buffer[]> {
  const { start, end } = checkRange(range);
  const lines: Buffer[] = [];
  let parts: Buffer[] = [];
  let bytes = 0;
  let line = 1;
  const take = (piece: Buffer) => {
    if (line < start) return;
    bytes += piece.length + 1;
    if (bytes > mostBytes) {
      throw new SecboxError(
        'file_too_large',
        `These lines have more than ${mostBytes} bytes; ask for fewer.`,
      );
    }
    parts.push(Buffer.from(piece));
  };
  const finish = () => {
    if (line >= start) lines.push(withoutReturn(Buffer.concat(parts)));
    parts = [];
    line += 1;
  };
  const buffer = Buffer.allocUnsafe(pieceBytes);
  for (let position = 0; line <= end;) {
    const bytesRead = await file.read(buffer, position);
    if (bytesRead === 0) {
      if (parts.length > 0) finish();
      break;
    }
    position += bytesRead;
    const piece = buffer.subarray(0, bytesRead);
    for (let at = 0; at < piece.length && line <= end;) {
      const found = piece.indexOf(newline, at);
      take(piece.subarray(at, found === -1 ? piece.length : found));
      if (found === -1) break;
      finish();
      at = found + 1;
    }
  }
  return lines;
}

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === carriageReturn ? line.subarray(0, -1) : line;
}
