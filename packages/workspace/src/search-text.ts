import { SecboxError } from '@secbox/contracts';

export interface SearchQuery {
  /** Plain text; no pattern of any kind. */
  readonly text: string;
  readonly ignoreCase?: boolean;
  /** Only below that folder. */
  readonly folder?: string;
  readonly limit?: number;
}

export interface SearchAnswer {
  readonly matches: readonly { readonly path: string; readonly line: number; readonly text: string }[];
  /** There is more than the limit, or what was too large to look into. */
  readonly truncated: boolean;
}

/** A file that may be looked into. */
export interface SearchedFile {
  readonly path: string;
  readonly bytes: number;
  read(): Promise<Buffer>;
}

const longestText = 1_000;
const defaultLimit = 200;
const largestLimit = 1_000;
const largestFile = 4 * 1024 ** 2;
const largestTotal = 64 * 1024 ** 2;
const shownCharacters = 400;

/** Line by line through those that are text, in the order in which they come. */
export async function searchText(
  files: Iterable<SearchedFile> | AsyncIterable<SearchedFile>,
  query: SearchQuery,
): Promise<SearchAnswer> {
  const limit = query.limit ?? defaultLimit;
  if (query.text === '' || query.text.length > longestText || /[\r\n]/.test(query.text)) {
    throw new SecboxError(
      'invalid_request',
      `The text to search for is one line of 1 to ${longestText} characters.`,
    );
  }
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= largestLimit)) {
    throw new SecboxError('invalid_request', `limit must be a whole number from 1 to ${largestLimit}.`);
  }
  const wanted = folded(query.text, query);
  const matches: SearchAnswer['matches'][number][] = [];
  let truncated = false;
  let left = largestTotal;
  for await (const file of files) {
    const { path, bytes } = file;
    if (query.folder !== undefined && !path.startsWith(`${query.folder}/`)) continue;
    if (bytes > largestFile || bytes > left) {
      truncated = true;
      continue;
    }
    left -= bytes;
    for (const [index, line] of linesOf(await file.read()).entries()) {
      if (!folded(line, query).includes(wanted)) continue;
      if (matches.length === limit) return { matches, truncated: true };
      matches.push({ path, line: index + 1, text: line.slice(0, shownCharacters) });
    }
  }
  return { matches, truncated };
}

function folded(text: string, { ignoreCase }: SearchQuery): string {
  return ignoreCase === true ? text.toLowerCase() : text;
}

/** None of a file that is no text. */
function linesOf(content: Buffer): string[] {
  return content.includes(0) ? [] : content.toString('utf8').split(/\r?\n/);
}
