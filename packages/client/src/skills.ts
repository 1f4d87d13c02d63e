import {
  isFinal,
  type InvocationAnswer,
  type InvocationRequest,
  type SkillAnswer,
  type SkillDetail,
  type SkillFileListing,
  type SkillListQuery,
  type SkillPage,
} from '@secbox/contracts';
import type { Connection } from './connection.js';
import type { Execs, WaitOptions } from './execs.js';
import { allOf } from './pages.js';
import { longestAnswerSeconds, submission, type SubmitOptions } from './submitting.js';

interface Asking {
  readonly signal?: AbortSignal | undefined;
}

/** Skills as functions. */
export class Skills {
  readonly #connection: Connection;
  readonly #execs: Execs;

  constructor(connection: Connection, execs: Execs) {
    this.#connection = connection;
    this.#execs = execs;
  }

  page(query: SkillListQuery = {}, { signal }: Asking = {}): Promise<SkillPage> {
    return this.#connection.json('/skills', { query, signal });
  }

  list(query: Omit<SkillListQuery, 'cursor'> = {}, asking: Asking = {}): AsyncIterable<SkillAnswer> {
    return allOf(
      (cursor) => this.page({ limit: 1000, ...query, ...(cursor === undefined ? {} : { cursor }) }, asking),
      (page) => page.skills,
    );
  }

  /** Another text whenever a skill has come, gone or changed. */
  async revision({ signal }: Asking = {}): Promise<string> {
    const response = await this.#connection.send('/skills', { query: { limit: 1 }, signal });
    await response.body?.cancel();
    return response.headers.get('etag') ?? '';
  }

  get(skillId: string, { signal }: Asking = {}): Promise<SkillDetail> {
    return this.#connection.json(pathOf(skillId), { signal });
  }

  files(skillId: string, { signal }: Asking = {}): Promise<SkillFileListing> {
    return this.#connection.json(`${pathOf(skillId)}/files`, { signal });
  }

  /** Hands an invocation over; answers at once unless `waitSeconds` says otherwise. */
  submit(
    skillId: string,
    request: InvocationRequest,
    options: SubmitOptions = {},
  ): Promise<InvocationAnswer> {
    return this.#connection.json(`${pathOf(skillId)}/invoke`, submission(request, options));
  }

  /** Invokes a skill and gives what came of it. */
  async invoke(
    skillId: string,
    request: InvocationRequest,
    options: SubmitOptions & WaitOptions = {},
  ): Promise<InvocationAnswer> {
    const waitSeconds = options.onEvent ? 0 : longestAnswerSeconds;
    const submitted = await this.submit(skillId, request, { waitSeconds, ...options });
    if (isFinal(submitted.status) && !options.onEvent) return submitted;
    return this.wait(skillId, submitted.exec_id, options);
  }

  async wait(
    skillId: string,
    execId: string,
    { signal, onEvent }: WaitOptions = {},
  ): Promise<InvocationAnswer> {
    for await (const event of this.#execs.events(execId, { signal })) onEvent?.(event);
    return this.invocation(skillId, execId, { signal });
  }

  invocation(skillId: string, execId: string, { signal }: Asking = {}): Promise<InvocationAnswer> {
    return this.#connection.json(`${pathOf(skillId)}/execs/${encodeURIComponent(execId)}`, { signal });
  }
}

function pathOf(skillId: string): string {
  return `/skills/${encodeURIComponent(skillId)}`;
}
