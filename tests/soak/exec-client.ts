import { setTimeout as sleep } from 'node:timers/promises';
import { isFinal, type ExecAnswer } from '@secbox/contracts';

export interface Posted {
  readonly status: number;
  readonly body: ExecAnswer & { readonly error?: { readonly code: string } };
}

export interface PostOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface SentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly status?: string; readonly base64?: string };
}

/** What a worker service does with the API, and no more. */
export class ExecClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async post(body: unknown, { headers = {}, signal }: PostOptions = {}): Promise<Posted> {
    const response = await fetch(`${this.#url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.status, body: (await response.json()) as Posted['body'] };
  }

  async submit(body: unknown): Promise<ExecAnswer> {
    return (await this.post(body, { headers: { prefer: 'respond-async' } })).body;
  }

  async get(execId: string): Promise<ExecAnswer> {
    return (await (await fetch(`${this.#url}/sandbox/execs/${execId}`)).json()) as ExecAnswer;
  }

  async cancel(execId: string): Promise<ExecAnswer> {
    const response = await fetch(`${this.#url}/sandbox/execs/${execId}/cancel`, { method: 'POST' });
    return (await response.json()) as ExecAnswer;
  }

  async until(execId: string, reached: (answer: ExecAnswer) => boolean): Promise<ExecAnswer> {
    for (;;) {
      const answer = await this.get(execId);
      if (reached(answer) || isFinal(answer.status)) return answer;
      await sleep(25);
    }
  }

  /** Until the stream ends, or whoever iterates leaves. */
  async *events(execId: string, after?: string): AsyncGenerator<SentEvent> {
    const leaving = new AbortController();
    const response = await fetch(`${this.#url}/sandbox/execs/${execId}/events`, {
      headers: after === undefined ? {} : { 'last-event-id': after },
      signal: leaving.signal,
    });
    let text = '';
    try {
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk as Uint8Array).toString('latin1');
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) if (!block.startsWith(':')) yield eventOf(block);
      }
    } finally {
      leaving.abort();
    }
  }
}

function eventOf(block: string): SentEvent {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? '';
  return { id: field('id'), event: field('event'), data: JSON.parse(field('data')) as SentEvent['data'] };
}
