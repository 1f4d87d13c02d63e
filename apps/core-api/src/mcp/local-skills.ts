import { execScopeOf, type Principal } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import {
  parseExecId,
  SecboxError,
  type InvocationRequest,
  type RunCodeRequest,
  type SkillAnswer,
  type SkillPage,
} from '@secbox/contracts';
import type { Caller, ExecRunner } from '@secbox/exec-runner';
import type { InvocationEvent, ReadArtifact, SkillSource } from '@secbox/mcp-skills';
import type { CodeRunner } from '@secbox/run-code';
import type { SkillRegistry } from '@secbox/skill-manifest';
import type { SkillCatalogue, SkillInvoker } from '@secbox/skills';
import type { RouteName } from '../route-access.js';

export interface LocalSkillsParts {
  readonly catalogue: SkillCatalogue;
  readonly invoker: SkillInvoker;
  readonly runner: Pick<ExecRunner, 'find' | 'watch' | 'cancel'>;
  readonly audit: Pick<AuditLog, 'find' | 'openArtifact'>;
  readonly registry: Pick<SkillRegistry, 'onChange'>;
  readonly codeRunner: CodeRunner;
  readonly validateCode: (request: unknown) => RunCodeRequest;
  readonly validate: (request: unknown) => InvocationRequest;
  /** Who asks for execs. */
  readonly asker: Caller;
  /** Throws when the route that does the same is not for the caller. */
  readonly admit: (route: RouteName) => void;
}

const beginning = { stdout: 0, stderr: 0, state: 0 };

/** The skills of this server for one caller: the use cases of the routes, under the access of the routes. */
export class LocalSkills implements SkillSource {
  readonly #caller: Principal;
  readonly #parts: LocalSkillsParts;

  constructor(caller: Principal, parts: LocalSkillsParts) {
    this.#caller = caller;
    this.#parts = parts;
  }

  list(): Promise<readonly SkillAnswer[]> {
    this.#parts.admit('GET /skills');
    const skills: SkillAnswer[] = [];
    for (let cursor: string | undefined; ;) {
      const query = { valid: 'true', limit: 1000 } as const;
      const page: SkillPage = this.#parts.catalogue.list(cursor === undefined ? query : { ...query, cursor });
      skills.push(...page.skills);
      if (page.next_cursor === null) return Promise.resolve(skills);
      cursor = page.next_cursor;
    }
  }

  find(skillId: string): Promise<SkillAnswer> {
    this.#parts.admit('GET /skills/{skill_id}');
    return Promise.resolve(this.#parts.catalogue.detail(skillId));
  }

  async submit(skillId: string, request: InvocationRequest) {
    const { admit, asker, invoker, validate } = this.#parts;
    admit('POST /skills/{skill_id}/invoke');
    const scope = execScopeOf(this.#caller);
    const { execId } = await invoker.invoke(asker, skillId, validate(request), { scope });
    return { exec_id: execId };
  }

  async *follow(execId: string, leaving: AbortSignal): AsyncGenerator<InvocationEvent> {
    yield* await this.#parts.runner.watch(this.#keyOf(execId), beginning, leaving);
  }

  async answer(skillId: string, execId: string) {
    return this.#parts.invoker.answer(skillId, await this.#parts.runner.find(this.#keyOf(execId)));
  }

  async submitCode(request: unknown) {
    const { admit, asker, codeRunner, validateCode } = this.#parts;
    admit('POST /run_code');
    const { execId } = await codeRunner.submit(asker, validateCode(request));
    return { exec_id: execId };
  }

  async codeAnswer(execId: string) {
    return this.#parts.codeRunner.answer(await this.#parts.runner.find(this.#keyOf(execId)));
  }

  cancel(execId: string): Promise<unknown> {
    return this.#parts.runner.cancel(this.#keyOf(execId));
  }

  async readArtifact(execId: string, encodedPath: string, mostBytes: number): Promise<ReadArtifact> {
    this.#parts.admit('GET /sandbox/execs/{exec_id}/artifacts/{path}');
    const { file, size, mediaType } = await this.#parts.audit.openArtifact(
      execScopeOf(this.#caller),
      parseExecId(execId),
      encodedPath,
    );
    try {
      if (size > mostBytes) {
        throw new SecboxError(
          'file_too_large',
          `It has ${size} bytes; more than ${mostBytes} are downloaded over HTTP.`,
        );
      }
      const buffer = Buffer.alloc(size);
      return { mediaType, bytes: buffer.subarray(0, await file.read(buffer, 0)) };
    } finally {
      file.close();
    }
  }

  onChange(listener: () => void): () => void {
    return this.#parts.registry.onChange(listener);
  }

  #keyOf(execId: string) {
    return { tenant: this.#caller.tenant, execId: parseExecId(execId) };
  }
}
