import {
  loadSkillFolder,
  manifestName,
  skillImageNames,
  type ManifestChecker,
  type SkillFile,
  type SkillProblem,
} from '@secbox/skill-manifest';
import { caseProblems } from './case-problems.js';
import type { SkillFolderPlace } from './skill-folders.js';

export interface CheckedSkill {
  readonly id: string;
  readonly digest: string;
  readonly files: readonly SkillFile[];
  readonly problems: readonly SkillProblem[];
}

/** All that can be said of a skill without a server, its examples among it. */
export function checkSkill({ skills, id }: SkillFolderPlace, checker: ManifestChecker): CheckedSkill {
  const loaded = loadSkillFolder(skills, id, { checker, images: skillImageNames });
  if (!loaded) throw new Error(`${id} went away.`);
  const { digest, files, fitting = {} } = loaded;
  const { limits, inputs } = fitting;
  const bytes = files.find(({ path }) => path === manifestName)?.content;
  const compiling = bytes ? checker.checkCompiling(bytes, fitting) : [];
  const problems = [
    ...loaded.problems,
    ...(limits && bytes ? checker.checkLimits(bytes, limits, { engine: undefined }) : []),
    ...compiling,
    ...caseProblems(compiling.length === 0 ? inputs : undefined, files),
  ];
  return { id, digest, files, problems };
}
