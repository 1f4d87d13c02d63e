import { randomUUID } from 'node:crypto';
import {
  SecboxError,
  type SkillAnswer,
  type SkillDetail,
  type SkillFileListing,
  type SkillListQuery,
  type SkillPage,
} from '@secbox/contracts';
import type { SkillRun } from '@secbox/exec-runner';
import {
  isForProgram,
  type JsonSchema,
  type Skill,
  type SkillRegistry,
  type ValidSkill,
} from '@secbox/skill-manifest';

const defaultLimit = 50;

/** Tells which skills there are. */
export class SkillCatalogue {
  readonly #registry: Pick<SkillRegistry, 'snapshot'>;
  /** Each server counts from the beginning. */
  readonly #epoch = randomUUID();

  constructor(registry: Pick<SkillRegistry, 'snapshot'>) {
    this.#registry = registry;
  }

  /** Another text whenever a skill has come, gone or changed. */
  get revision(): string {
    return `${this.#epoch}.${this.#registry.snapshot.revision}`;
  }

  /** In the order of their ids; the cursor is the last one that was told, so that a change in between skips nothing. */
  list({ valid, q, cursor = '', limit = defaultLimit }: SkillListQuery): SkillPage {
    const word = q?.toLowerCase();
    const found = [...this.#registry.snapshot.skills.values()].filter(
      (skill) =>
        skill.id > cursor &&
        (valid === undefined || skill.valid === (valid === 'true')) &&
        (word === undefined || wordsOf(skill).some((text) => text.toLowerCase().includes(word))),
    );
    const page = found.slice(0, limit);
    return {
      skills: page.map(answerOf),
      next_cursor: found.length > page.length ? (page.at(-1)?.id ?? null) : null,
    };
  }

  detail(id: string): SkillDetail {
    const skill = this.find(id);
    const readme = skill.files.find(({ path }) => path === 'README.md');
    return {
      ...answerOf(skill),
      readme: readme?.content.toString('utf8') ?? null,
      files_url: `/skills/${encodeURIComponent(id)}/files`,
    };
  }

  files(id: string): SkillFileListing {
    const { digest, files } = this.find(id);
    return {
      id,
      digest,
      files: files.map(({ path, content, sha256, executable }) => ({
        path,
        size: content.length,
        sha256,
        executable,
        for_program: isForProgram(path),
      })),
    };
  }

  find(id: string): Skill {
    const skill = this.#registry.snapshot.skills.get(id);
    if (!skill)
      throw new SecboxError('skill_not_found', `There is no skill ${JSON.stringify(id.slice(0, 80))}.`);
    return skill;
  }

  /** What a skill of this digest promises; undefined when it is another by now. */
  outputsOf(id: string, digest: string): JsonSchema | undefined {
    const skill = this.#registry.snapshot.skills.get(id);
    return skill?.digest === digest ? skill.manifest?.interface.outputs : undefined;
  }

  /** Under which a command of a caller's own runs in the name of the skill. */
  rules(id: string): SkillRun {
    return rulesOf(this.findValid(id));
  }

  /** The skill as it is at this moment; throws when it is not one that can run. */
  findValid(id: string): ValidSkill {
    const skill = this.find(id);
    if (skill.valid) return skill;
    const [first] = skill.problems;
    const where =
      first === undefined || first.line === null
        ? (first?.file ?? '')
        : `${first.file}:${first.line}:${first.column}`;
    throw new SecboxError(
      'skill_invalid',
      `The skill ${id} is not valid and is not run: ${where} ${first?.pointer ?? ''} ${first?.message ?? ''}.`,
      { details: { problems: skill.problems } },
    );
  }
}

/** What its manifest decides about every exec in its name. */
export function rulesOf({ id, manifest, limits, writesWork }: ValidSkill): SkillRun {
  return {
    id,
    image: manifest.runtime.image,
    limits,
    readOnlyWork: !writesWork,
    asksApproval: manifest.permissions.approval === 'always',
  };
}

function wordsOf({ id, manifest }: Skill): string[] {
  return [id, manifest?.name ?? '', manifest?.description ?? ''];
}

function answerOf(skill: Skill): SkillAnswer {
  const { id, valid, digest, manifest } = skill;
  return {
    id,
    valid,
    digest,
    name: manifest?.name ?? null,
    description: manifest?.description ?? null,
    interface: manifest
      ? {
          inputs: skill.valid ? skill.inputs : manifest.interface.inputs,
          outputs: manifest.interface.outputs,
        }
      : null,
    runtime: manifest?.runtime ?? null,
    permissions: manifest?.permissions ?? null,
    limits: manifest?.limits ?? null,
    problems: skill.valid ? [] : skill.problems,
  };
}
