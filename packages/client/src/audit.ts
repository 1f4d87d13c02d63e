import type {
  ExecAnswer,
  ExecExportQuery,
  ExecFilter,
  ExecListQuery,
  ExecPage,
  ExecRecord,
  ExecStats,
  SecurityEventPage,
  SecurityEventQuery,
} from '@secbox/contracts';
import type { Connection } from './connection.js';
import type { Execs } from './execs.js';
import { allOf } from './pages.js';
import { storedFile, type StoredFile } from './stored-file.js';

interface Asking {
  readonly signal?: AbortSignal | undefined;
}

/** What ran. */
export class Audit {
  readonly #connection: Connection;
  readonly #execs: Execs;

  constructor(connection: Connection, execs: Execs) {
    this.#connection = connection;
    this.#execs = execs;
  }

  page(query: ExecListQuery = {}, { signal }: Asking = {}): Promise<ExecPage> {
    return this.#connection.json('/sandbox/execs', { query, signal });
  }

  /** All that the filters mean, newest first unless `sort` says otherwise. */
  list(query: Omit<ExecListQuery, 'cursor'> = {}, asking: Asking = {}): AsyncIterable<ExecRecord> {
    return allOf(
      (cursor) => this.page({ ...query, ...(cursor === undefined ? {} : { cursor }) }, asking),
      (page) => page.execs,
    );
  }

  show(execId: string, asking: Asking = {}): Promise<ExecAnswer> {
    return this.#execs.get(execId, asking);
  }

  /** As a download, to be read at one's own pace. */
  async export(query: ExecExportQuery, { signal }: Asking = {}): Promise<StoredFile> {
    return storedFile(await this.#connection.send('/sandbox/execs/export', { query, signal }));
  }

  stats(query: ExecFilter = {}, { signal }: Asking = {}): Promise<ExecStats> {
    return this.#connection.json('/sandbox/execs/stats', { query, signal });
  }

  /** What happened at the door: keys, Settings, refusals. */
  securityEvents(query: SecurityEventQuery = {}, { signal }: Asking = {}): Promise<SecurityEventPage> {
    return this.#connection.json('/audit/events', { query, signal });
  }
}
