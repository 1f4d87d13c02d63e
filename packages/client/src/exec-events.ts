import { isFinal, type ExecStatus } from '@secbox/contracts';
import { ApiError, ConnectionError } from './api-error.js';
import type { Connection } from './connection.js';
import { delayBefore, mayWork, pause, type RetryOptions } from './retry.js';
import { sentEvents, type SentEvent } from './server-sent-events.js';

/** Something that happened to an exec. `id` is where to go on after it. */
export type ExecEvent =
  | { readonly id: string; readonly type: 'state'; readonly status: ExecStatus }
  | { readonly id: string; readonly type: 'stdout' | 'stderr'; readonly data: Uint8Array };

export interface EventOptions {
  readonly signal?: AbortSignal | undefined;
  /** Only what came after this event. */
  readonly after?: string | undefined;
}

/** A server that stops says nothing more, and the next one needs a moment. */
const reconnect: RetryOptions = { attempts: 10, delayMs: 100, maxDelayMs: 5000 };

/**
 * State and output from the beginning, or from `after` on, until the exec is over. When the connection breaks it goes on
 * with the next, without a gap and without telling anything twice.
 */
export async function* execEvents(
  connection: Connection,
  execId: string,
  { signal, after }: EventOptions = {},
): AsyncGenerator<ExecEvent> {
  let last = after;
  for (let failures = 0; ; failures += 1) {
    let failure: ApiError | ConnectionError;
    try {
      const response = await connection.send(`/sandbox/execs/${encodeURIComponent(execId)}/events`, {
        headers: { accept: 'text/event-stream', ...(last === undefined ? {} : { 'last-event-id': last }) },
        signal,
      });
      if (!response.body) throw new TypeError('There is no body.');
      for await (const sent of sentEvents(response.body)) {
        const event = eventOf(sent);
        if (!event) continue;
        failures = 0;
        last = event.id;
        yield event;
        if (event.type === 'state' && isFinal(event.status)) return;
      }
      failure = new ConnectionError('The stream of events', 'it ended before the exec did');
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ApiError && !mayWork(error)) throw error;
      failure = error instanceof ApiError ? error : new ConnectionError('The stream of events', error);
    }
    const delay = delayBefore(failures, failure, reconnect);
    if (delay === undefined) throw failure;
    await pause(delay, signal);
  }
}

function eventOf({ id, event, data }: SentEvent): ExecEvent | undefined {
  const { status, base64 = '' } = JSON.parse(data) as { status?: ExecStatus; base64?: string };
  if (event === 'state' && status !== undefined) return { id, type: 'state', status };
  if (event !== 'stdout' && event !== 'stderr') return undefined;
  return { id, type: event, data: Buffer.from(base64, 'base64') };
}
