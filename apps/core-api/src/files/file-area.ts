import type { LineRange, Listing, ListingPage, SearchAnswer, SearchQuery } from '@secbox/workspace';
import type { SentFile } from '../send-file.js';

export interface AreaPrecondition {
  /** The etag that the file must have, or `*` for any. */
  readonly ifMatch?: string | undefined;
  /** The file must not be there. */
  readonly ifAbsent?: boolean | undefined;
}

export interface AreaFile {
  readonly path: string;
  readonly bytes: number;
  readonly executable: boolean;
  readonly etag: string;
}

export interface AreaChange {
  readonly path: string;
  readonly bytes: number;
  readonly etag: string;
  readonly created: boolean;
}

/** A place with files that callers may look at and change: a skill, a general sandbox, a folder of a project. */
export interface FileArea {
  list(page: ListingPage): Promise<Listing<{ readonly path: string; readonly bytes: number }>>;
  stat(path: string): Promise<AreaFile>;
  /** Whoever gets it closes it. */
  open(path: string): Promise<SentFile>;
  readText(path: string): Promise<{ readonly text: string; readonly etag: string }>;
  readLines(path: string, range: LineRange): Promise<{ readonly lines: string[]; readonly etag: string }>;
  search(query: SearchQuery): Promise<SearchAnswer>;
  write(
    path: string,
    content: AsyncIterable<Buffer>,
    options: AreaPrecondition & { readonly mostBytes: number; readonly executable?: boolean | undefined },
  ): Promise<AreaChange>;
  edit(path: string, text: string, options: LineRange & AreaPrecondition): Promise<AreaChange>;
  delete(path: string, precondition: AreaPrecondition): Promise<void>;
  move(from: string, to: string, precondition: AreaPrecondition): Promise<void>;
}
