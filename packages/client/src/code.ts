import { isFinal, type RunCodeAnswer, type RunCodeRequest } from '@secbox/contracts';
import type { Connection } from './connection.js';
import type { Execs, WaitOptions } from './execs.js';
import { longestAnswerSeconds, submission, type SubmitOptions } from './submitting.js';

/** Code in, what came of it out. */
export class Code {
  readonly #connection: Connection;
  readonly #execs: Execs;

  constructor(connection: Connection, execs: Execs) {
    this.#connection = connection;
    this.#execs = execs;
  }

  /** Hands code over; answers at once unless `waitSeconds` says otherwise. */
  submit(request: RunCodeRequest, options: SubmitOptions = {}): Promise<RunCodeAnswer> {
    return this.#connection.json('/run_code', submission(request, options));
  }

  /**
   * Runs code and gives what came of it. Where a human has to agree first, it waits for that too: leaving (by a signal)
   * ends the waiting, not the exec.
   */
  async run(request: RunCodeRequest, options: SubmitOptions & WaitOptions = {}): Promise<RunCodeAnswer> {
    const waitSeconds = options.onEvent ? 0 : longestAnswerSeconds;
    const submitted = await this.submit(request, { waitSeconds, ...options });
    if (isFinal(submitted.status) && !options.onEvent) return submitted;
    const { signal, onEvent } = options;
    for await (const event of this.#execs.events(submitted.exec_id, { signal })) onEvent?.(event);
    return this.get(submitted.exec_id, { signal });
  }

  get(
    execId: string,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<RunCodeAnswer> {
    return this.#connection.json(`/run_code/${encodeURIComponent(execId)}`, { signal });
  }
}
