import { isFinal, type ExecutedCommand, type FileChangeAnswer } from '@secbox/contracts';
import type { Connection } from './connection.js';
import type { Execs } from './execs.js';
import { storedFile, type StoredFile } from './stored-file.js';
import { longestAnswerSeconds, submission, type SubmitOptions } from './submitting.js';

interface Asking {
  readonly signal?: AbortSignal | undefined;
}

/** From 1, both included. */
export interface Lines {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

export interface ChangeOptions extends Asking {
  /** The etag that the file must still have. */
  readonly ifMatch?: string | undefined;
  /** Only if there is no such file yet. */
  readonly ifAbsent?: boolean | undefined;
}

interface Envelope<Data> {
  readonly data: Data;
}

const mostListed = 10_000;

/** The files of a skill as one user sees it, or of the user's general sandbox, and commands among them. */
export class UserFiles {
  protected readonly connection: Connection;
  protected readonly path: string;
  readonly #execs: Execs;

  constructor(connection: Connection, execs: Execs, path: string) {
    this.connection = connection;
    this.path = path;
    this.#execs = execs;
  }

  /** Every path, in order. */
  async *files({ signal }: Asking = {}): AsyncIterable<string> {
    for (let after: string | undefined; ;) {
      const query = { limit: mostListed, after };
      const page = await this.data<readonly string[]>('files', { query, signal });
      yield* page;
      if (page.length < mostListed) return;
      after = page.at(-1);
    }
  }

  /** The whole text of a file. */
  async read(path: string, { signal }: Asking = {}): Promise<string> {
    return (await this.data<{ content: string }>('content', { query: { path }, signal })).content;
  }

  async readLines(path: string, { start = 1, end }: Lines, { signal }: Asking = {}): Promise<string[]> {
    const query = { path, start, end };
    return (await this.data<{ content: string[] }>('content', { query, signal })).content;
  }

  /** Its bytes, as they are. */
  async open(path: string, { signal }: Asking = {}): Promise<StoredFile> {
    return storedFile(await this.connection.send(`${this.path}/file`, { query: { path }, signal }));
  }

  /** Puts text in the place of a file, or of some of its lines; makes it when it is not there. */
  async edit(
    path: string,
    text: string,
    { start, end, ...options }: Lines & ChangeOptions = {},
  ): Promise<FileChangeAnswer> {
    const { file } = await this.connection.json<{ file: FileChangeAnswer }>(`${this.path}/edit`, {
      method: 'PUT',
      query: { path, start, end },
      content: text,
      headers: { 'content-type': 'text/plain; charset=utf-8', ...preconditions(options) },
      signal: options.signal,
    });
    return file;
  }

  write(
    path: string,
    content: Uint8Array<ArrayBuffer> | Blob,
    { executable, ...options }: ChangeOptions & { readonly executable?: boolean } = {},
  ): Promise<FileChangeAnswer> {
    return this.data('file', {
      method: 'PUT',
      query: { path, executable },
      content,
      headers: { 'content-type': 'application/octet-stream', ...preconditions(options) },
      signal: options.signal,
    });
  }

  /** A file, or a folder with all in it. */
  async delete(path: string, options: ChangeOptions = {}): Promise<void> {
    const headers = preconditions(options);
    await this.data('file', { method: 'DELETE', query: { path }, headers, signal: options.signal });
  }

  async move(from: string, to: string, { signal }: Asking = {}): Promise<void> {
    await this.data('move', { method: 'POST', query: { from, to }, signal });
  }

  /** Runs a command and gives what came of it, however long it takes; leaving (by a signal) does not end it. */
  async execute(
    command: string,
    args: readonly string[] = [],
    options: SubmitOptions = {},
  ): Promise<ExecutedCommand> {
    const call = {
      ...submission(args, { waitSeconds: longestAnswerSeconds, ...options }),
      query: { command },
    };
    for (;;) {
      // The same key again is the same exec.
      const answer = await this.data<ExecutedCommand>('execute', call);
      if (isFinal(answer.status)) return answer;
      await this.#execs.wait(answer.exec_id, { signal: options.signal });
    }
  }

  protected async data<Data>(name: string, call?: Parameters<Connection['json']>[1]): Promise<Data> {
    const { data } = await this.connection.json<Envelope<Data>>(`${this.path}/${name}`, call);
    return data;
  }
}

function preconditions({ ifMatch, ifAbsent }: ChangeOptions): Record<string, string> {
  return {
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch === '*' ? '*' : `"${ifMatch}"` }),
    ...(ifAbsent === true ? { 'if-none-match': '*' } : {}),
  };
}
