import { ApiError, ConnectionError, errorOf } from './api-error.js';
import { delayBefore, mayWork, pause, type RetryOptions } from './retry.js';

export interface ConnectionOptions {
  /** Where the server is, such as `http://127.0.0.1:8003`. */
  readonly url: string;
  /** An API key; none where the server takes calls without. */
  readonly key?: string | undefined;
  readonly retry?: RetryOptions;
  /** For tests, proxies and certificates of one's own. */
  readonly fetch?: typeof fetch;
}

export interface Call {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly query?: object | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is instead, so that it can be sent again. */
  readonly content?: string | Blob | FormData | Uint8Array<ArrayBuffer> | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Once aborted it is not sent again, nor waited for that; what is under way is not cut off. */
  readonly giveUp?: AbortSignal | undefined;
  /** Whether it may be sent again when it is not known what became of it. GET may. */
  readonly repeatable?: boolean;
  /** Statuses that are an answer too. */
  readonly accepted?: readonly number[];
}

/** Sends calls with the key, says them again where that is safe, and throws what is no success. */
export class Connection {
  readonly #url: string;
  readonly #key: string | undefined;
  readonly #retry: RetryOptions;
  readonly #fetch: typeof fetch;

  constructor({ url, key, retry = {}, fetch: own = fetch }: ConnectionOptions) {
    if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
      throw new TypeError(`"${url}" is not the URL of a server, such as http://127.0.0.1:8003.`);
    }
    this.#url = url.replace(/\/+$/, '');
    this.#key = key;
    this.#retry = retry;
    this.#fetch = own;
  }

  async json<Answer>(path: string, call: Call = {}): Promise<Answer> {
    const response = await this.send(path, call);
    try {
      return (await response.json()) as Answer;
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new ConnectionError(this.#url, error);
    }
  }

  /** Gives the answer with its body still to be read. */
  async send(path: string, call: Call = {}): Promise<Response> {
    const { method = 'GET', repeatable = method === 'GET', signal, giveUp } = call;
    // Names of others are parts of it, and these would lead to another route with the same key.
    if (/\/(\.|%2e){1,2}(\/|$)/i.test(path)) throw new TypeError(`"${path}" is not a path of the API.`);
    for (let attempt = 0; ; attempt += 1) {
      const failure = await this.#try(path, call);
      if (failure instanceof Response) return failure;
      const delay = delayBefore(attempt, failure, this.#retry);
      const again = delay !== undefined && (repeatable ? mayWork(failure) : wasTurnedAway(failure));
      if (!again) throw failure;
      await pause(delay, AbortSignal.any([signal, giveUp].filter((each) => each !== undefined)));
    }
  }

  async #try(path: string, call: Call): Promise<Response | ApiError | ConnectionError> {
    const { method = 'GET', query = {}, body, content, headers = {}, signal, accepted = [] } = call;
    const sent = body === undefined ? content : JSON.stringify(body);
    try {
      const response = await this.#fetch(`${this.#url}${path}${queryText(query)}`, {
        method,
        // A key is for this server alone.
        redirect: 'error',
        headers: {
          ...(this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(sent === undefined ? {} : { body: sent }),
        ...(signal && { signal }),
      });
      if (response.ok || accepted.includes(response.status)) return response;
      return await errorOf(response);
    } catch (error) {
      signal?.throwIfAborted();
      return new ConnectionError(this.#url, error);
    }
  }
}

/** Told so before anything was done. */
function wasTurnedAway(failure: ApiError | ConnectionError): boolean {
  return failure instanceof ApiError && failure.status === 429;
}

function queryText(query: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}
