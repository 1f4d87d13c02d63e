import type { PolicyOverrides } from '@secbox/policy';
import { expandFiles, type FileRoute } from './file-inputs.js';
import type { JsonSchema, SkillManifest } from './manifest.js';
import type { SkillProblem } from './problem.js';
import { isForProgram, type SkillFile } from './skill-folder.js';

interface SkillFacts {
  /** The name of its folder; for a valid skill that is its id. */
  readonly id: string;
  readonly digest: string;
  readonly files: readonly SkillFile[];
}

/** A skill that can be invoked, as it was when its folder was read: nothing of it changes any more. */
export interface ValidSkill extends SkillFacts {
  readonly valid: true;
  readonly manifest: SkillManifest;
  /** What callers send, with each file spelt out. */
  readonly inputs: JsonSchema;
  readonly outputs: JsonSchema;
  /** Where in the inputs files are. */
  readonly fileRoutes: readonly FileRoute[];
  readonly limits: PolicyOverrides;
  readonly programFiles: readonly SkillFile[];
  /** Whether it may write to its project's work. */
  readonly writesWork: boolean;
}

/** A folder that is no skill yet, and why. */
export interface InvalidSkill extends SkillFacts {
  readonly valid: false;
  readonly manifest?: SkillManifest;
  readonly problems: readonly SkillProblem[];
}

export type Skill = ValidSkill | InvalidSkill;

export function validSkill({ id, digest, files }: SkillFacts, manifest: SkillManifest): ValidSkill {
  const inputs = expandFiles(manifest.interface.inputs);
  return Object.freeze({
    valid: true as const,
    id,
    digest,
    files,
    manifest,
    inputs: inputs.schema,
    outputs: manifest.interface.outputs,
    fileRoutes: inputs.files,
    limits: manifest.limits,
    programFiles: files.filter(({ path }) => isForProgram(path)),
    writesWork: manifest.permissions.fs.write.includes('work/**'),
  });
}
