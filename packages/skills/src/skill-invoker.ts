import type { AuditLog } from '@secbox/audit';
import { containerPaths } from '@secbox/container-engine';
import {
  ephemeralProject,
  SecboxError,
  type ExecId,
  type ExecRecord,
  type ExecScope,
  type FreshExec,
  type InvocationAnswer,
  type InvocationRequest,
  type TenantId,
} from '@secbox/contracts';
import type { Caller, ExecRunner, Intake, IntakeLimits, SubmittedExec } from '@secbox/exec-runner';
import { findFiles, SchemaCompiler, type ValidSkill, type ValueCheck } from '@secbox/skill-manifest';
import { parseRelativePath, sha256Of, type InputFile } from '@secbox/workspace';
import { bringFiles } from './bring-files.js';
import { answerInvocation, freshSource, recordedSource, type AnswerSource } from './invocation-answer.js';
import { rulesOf, type SkillCatalogue } from './skill-catalogue.js';

export interface SkillInvokerOptions {
  readonly catalogue: SkillCatalogue;
  readonly runner: Pick<ExecRunner, 'submit' | 'findEarlier' | 'openIntake'>;
  readonly audit: AuditLog;
  readonly limits: IntakeLimits;
}

export interface InvokeOptions {
  readonly idempotencyKey?: string | undefined;
  /** Whose execs' files may be inputs of it; all of the caller's tenant unless told. */
  readonly scope?: ExecScope<TenantId>;
}

const mostKept = 256;

/** Makes an exec of the invocation of a skill, and an answer of what came of it. */
export class SkillInvoker {
  readonly #options: SkillInvokerOptions;
  readonly #compiler = new SchemaCompiler();
  /** By digest: the same skill is invoked again and again. */
  readonly #checks = new Map<string, ValueCheck>();

  constructor(options: SkillInvokerOptions) {
    this.#options = options;
  }

  /**
   * Records the invocation and lets it run; throws when it is refused. One that was recorded under its key before is
   * that exec, also where the skill has changed since.
   */
  async invoke(
    caller: Caller,
    skillId: string,
    request: InvocationRequest,
    { idempotencyKey, scope = caller.tenant }: InvokeOptions = {},
  ): Promise<SubmittedExec> {
    const { catalogue, runner, limits } = this.#options;
    const sent = { skill: skillId, requested: request };
    const earlier = await runner.findEarlier(sent, { caller, idempotencyKey });
    if (earlier) return earlier;
    const skill = catalogue.findValid(skillId);
    const inputs = this.#checkedInputs(skill, request.inputs ?? {});
    const intake = runner.openIntake(limits);
    try {
      const files = await this.#filesOf(scope, skill, inputs, intake);
      return await runner.submit(execOf(skill, request, intake.execId), {
        caller,
        idempotencyKey,
        intake,
        skill: {
          ...rulesOf(skill),
          invocation: { digest: skill.digest, outputs: skill.outputs, files, requested: request },
        },
      });
    } catch (error) {
      await intake.discard();
      throw error;
    }
  }

  /** What an invocation gave so far; throws when the exec is none of this skill. */
  async answer(skillId: string, record: ExecRecord): Promise<InvocationAnswer> {
    return this.#answer(skillId, record, recordedSource(this.#options.audit, record));
  }

  /** The same, of one that is still at hand. */
  async answerFresh(skillId: string, exec: FreshExec): Promise<InvocationAnswer> {
    return this.#answer(skillId, exec.record, freshSource(this.#options.audit, exec));
  }

  async #answer(skillId: string, record: ExecRecord, source: AnswerSource): Promise<InvocationAnswer> {
    const { skill_id, skill_digest, exec_id } = record;
    if (skill_id !== skillId || skill_digest === null) {
      throw new SecboxError('exec_not_found', `There is no exec ${exec_id} of the skill ${skillId}.`);
    }
    const outputs = this.#options.catalogue.outputsOf(skillId, skill_digest);
    return answerInvocation({ ...record, skill_id, skill_digest }, { source, outputs });
  }

  /** A copy with defaults filled in. */
  #checkedInputs(skill: ValidSkill, sent: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const inputs = structuredClone(sent);
    const problems = this.#checkOf(skill)(inputs).map((problem) => ({
      ...problem,
      pointer: `/inputs${problem.pointer}`,
    }));
    const [first] = problems;
    if (!first) return inputs;
    throw new SecboxError('invalid_input', `The inputs are not valid: ${first.pointer} ${first.message}.`, {
      details: { problems },
    });
  }

  #checkOf(skill: ValidSkill): ValueCheck {
    const known = this.#checks.get(skill.digest);
    if (known) return known;
    const check = this.#compiler.compile(skill.inputs, { fillDefaults: true });
    if (this.#checks.size >= mostKept) this.#checks.clear();
    this.#checks.set(skill.digest, check);
    return check;
  }

  /** All that lies in the folder of the exec: the skill's own files, those that were sent, and the input. */
  async #filesOf(
    scope: ExecScope<TenantId>,
    skill: ValidSkill,
    inputs: Record<string, unknown>,
    intake: Intake,
  ): Promise<InputFile[]> {
    const own = skill.programFiles.map(({ path, content, sha256 }) =>
      inputFile(`${intake.execId}/${path}`, content, sha256),
    );
    const found = findFiles(skill.fileRoutes, inputs);
    const sent = await bringFiles(found, { scope, audit: this.#options.audit, intake });
    return [...own, ...sent, inputFile(`${intake.execId}/input.json`, Buffer.from(JSON.stringify(inputs)))];
  }
}

function inputFile(path: string, content: Buffer, sha256 = sha256Of(content)): InputFile {
  return { path: parseRelativePath(path, 'inputs'), size: content.length, sha256, secret: false, content };
}

function execOf(skill: ValidSkill, request: InvocationRequest, execId: ExecId) {
  const folder = `${containerPaths.inputs}/${execId}`;
  const [command, ...args] = skill.manifest.runtime.entrypoint;
  const { policy_overrides, task_ref } = request;
  return {
    project_id: request.project_id ?? ephemeralProject(execId),
    exec: {
      kind: 'argv' as const,
      command,
      args: args.map((argument) => (argument.startsWith('./') ? `${folder}/${argument.slice(2)}` : argument)),
      env: { SECBOX_INPUT: `${folder}/input.json`, SECBOX_SKILL_DIR: folder },
    },
    ...(policy_overrides && { policy_overrides }),
    ...(task_ref && { task_ref }),
  };
}
