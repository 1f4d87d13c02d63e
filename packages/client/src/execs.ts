import {
  isFinal,
  type ArtifactListing,
  type ExecAnswer,
  type ExecRequest,
  type InputListing,
  type InputRecord,
  type PageQuery,
} from '@secbox/contracts';
import type { Connection } from './connection.js';
import { execEvents, type EventOptions, type ExecEvent } from './exec-events.js';
import { allOf } from './pages.js';
import { storedFile, type StoredFile } from './stored-file.js';
import { longestAnswerSeconds, submission, type SubmitOptions } from './submitting.js';

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Told of state and output as they come. */
  readonly onEvent?: ((event: ExecEvent) => void) | undefined;
}

interface Asking {
  readonly signal?: AbortSignal | undefined;
}

export type Artifact = ArtifactListing['artifacts'][number];

/** Commands in sandboxes. Leaving (by a signal) never ends an exec; {@link Execs.cancel} does. */
export class Execs {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Hands an exec over; answers at once unless `waitSeconds` says otherwise. */
  submit(request: ExecRequest, options: SubmitOptions = {}): Promise<ExecAnswer> {
    return this.#connection.json('/sandbox/execs', submission(request, options));
  }

  /** Hands an exec over and gives what came of it. */
  async run(request: ExecRequest, options: SubmitOptions & WaitOptions = {}): Promise<ExecAnswer> {
    const waitSeconds = options.onEvent ? 0 : longestAnswerSeconds;
    const submitted = await this.submit(request, { waitSeconds, ...options });
    if (isFinal(submitted.status) && !options.onEvent) return submitted;
    return this.wait(submitted.exec_id, options);
  }

  get(execId: string, { signal }: Asking = {}): Promise<ExecAnswer> {
    return this.#connection.json(pathOf(execId), { signal });
  }

  /** Until it is over, however long that takes; gives up when ten connections in a row bring nothing new. */
  async wait(execId: string, { signal, onEvent }: WaitOptions = {}): Promise<ExecAnswer> {
    for await (const event of this.events(execId, { signal })) onEvent?.(event);
    return this.get(execId, { signal });
  }

  events(execId: string, options: EventOptions = {}): AsyncIterable<ExecEvent> {
    return execEvents(this.#connection, execId, options);
  }

  /** Ends it, and answers once it has ended; one that is over already stays as it is. */
  cancel(execId: string, { signal }: Asking = {}): Promise<ExecAnswer> {
    return this.#connection.json(`${pathOf(execId)}/cancel`, { method: 'POST', repeatable: true, signal });
  }

  artifactPage(execId: string, query: PageQuery = {}, { signal }: Asking = {}): Promise<ArtifactListing> {
    return this.#connection.json(`${pathOf(execId)}/artifacts`, { query, signal });
  }

  artifacts(execId: string, asking: Asking = {}): AsyncIterable<Artifact> {
    return allOf(
      (cursor) =>
        this.artifactPage(execId, { limit: 1000, ...(cursor === undefined ? {} : { cursor }) }, asking),
      (page) => page.artifacts,
    );
  }

  inputs(execId: string, { signal }: Asking = {}): AsyncIterable<InputRecord> {
    return allOf(
      (cursor) =>
        this.#connection.json<InputListing>(`${pathOf(execId)}/inputs`, {
          query: { limit: 1000, cursor },
          signal,
        }),
      (page) => page.inputs,
    );
  }

  /** By its path, or by the `url` that it is listed with: only that knows names that are not UTF-8. */
  async openArtifact(
    execId: string,
    artifact: string | { readonly url: string | null; readonly path: string },
    { signal }: Asking = {},
  ): Promise<StoredFile> {
    const url = typeof artifact === 'string' ? null : artifact.url;
    const path = typeof artifact === 'string' ? artifact : artifact.path;
    const encoded = path.split('/').map(encodeURIComponent).join('/');
    return storedFile(
      await this.#connection.send(url ?? `${pathOf(execId)}/artifacts/${encoded}`, { signal }),
    );
  }

  /** Exactly what it wrote, up to its limit. */
  async openOutput(
    execId: string,
    stream: 'stdout' | 'stderr',
    { signal }: Asking = {},
  ): Promise<StoredFile> {
    return storedFile(await this.#connection.send(`${pathOf(execId)}/${stream}`, { signal }));
  }

  /** All its files and its output. */
  async openZip(execId: string, { signal }: Asking = {}): Promise<StoredFile> {
    return storedFile(await this.#connection.send(`${pathOf(execId)}/artifacts.zip`, { signal }));
  }
}

function pathOf(execId: string): string {
  return `/sandbox/execs/${encodeURIComponent(execId)}`;
}
