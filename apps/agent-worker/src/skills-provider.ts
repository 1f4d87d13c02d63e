import type { SecboxClient } from '@secbox/client';
import {
  SecboxError,
  type InvocationRequest,
  type RunCodeRequest,
  type SkillAnswer,
} from '@secbox/contracts';
import type { InvocationEvent, ReadArtifact, SkillSource } from '@secbox/mcp-skills';

export interface SkillsProviderOptions {
  readonly client: SecboxClient;
  /** How often to ask whether a skill has changed. */
  readonly pollMs: number;
  readonly onError: (error: unknown) => void;
}

/** The skills of a server over its API: GET /skills to list them, POST /skills/{id}/invoke to call one. */
export class SkillsProvider implements SkillSource {
  readonly #options: SkillsProviderOptions;
  readonly #client: SecboxClient;

  constructor(options: SkillsProviderOptions) {
    this.#options = options;
    this.#client = options.client;
  }

  async list(): Promise<readonly SkillAnswer[]> {
    const skills: SkillAnswer[] = [];
    for await (const skill of this.#client.skills.list({ valid: 'true' })) skills.push(skill);
    return skills;
  }

  find(skillId: string): Promise<SkillAnswer> {
    return this.#client.skills.get(skillId);
  }

  submit(skillId: string, request: InvocationRequest) {
    return this.#client.skills.submit(skillId, request);
  }

  follow(execId: string, leaving: AbortSignal): AsyncIterable<InvocationEvent> {
    return this.#client.execs.events(execId, { signal: leaving });
  }

  answer(skillId: string, execId: string) {
    return this.#client.skills.invocation(skillId, execId);
  }

  submitCode(request: unknown) {
    return this.#client.code.submit(request as RunCodeRequest);
  }

  codeAnswer(execId: string) {
    return this.#client.code.get(execId);
  }

  cancel(execId: string): Promise<unknown> {
    return this.#client.execs.cancel(execId);
  }

  async readArtifact(execId: string, encodedPath: string, mostBytes: number): Promise<ReadArtifact> {
    const url = `/sandbox/execs/${execId}/artifacts/${encodedPath}`;
    const file = await this.#client.execs.openArtifact(execId, { url, path: encodedPath });
    if (file.size === undefined || file.size > mostBytes) {
      await file.cancel();
      const size = file.size === undefined ? 'an unknown number of' : String(file.size);
      throw new SecboxError(
        'file_too_large',
        `It has ${size} bytes; more than ${mostBytes} are downloaded over HTTP.`,
      );
    }
    return { mediaType: file.mediaType, bytes: await file.bytes() };
  }

  /** A server that does not answer has not changed, as far as anyone knows. */
  onChange(listener: () => void): () => void {
    const { pollMs, onError } = this.#options;
    const stopped = new AbortController();
    const state: { revision?: string; failed: boolean } = { failed: false };
    const look = async () => {
      try {
        const revision = await this.#client.skills.revision({ signal: stopped.signal });
        // What clients listed while the server did not answer was nothing.
        if (state.failed || (state.revision !== undefined && state.revision !== revision)) listener();
        state.revision = revision;
        state.failed = false;
      } catch (error) {
        if (stopped.signal.aborted) return;
        // Once is enough to know.
        if (!state.failed) onError(error);
        state.failed = true;
      }
      setTimeout(() => void look(), pollMs).unref();
    };
    void look();
    return () => stopped.abort();
  }
}
