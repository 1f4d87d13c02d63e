export { checkInterface, type InterfaceProblem } from './check-interface.js';
export type { ValueProblem } from './describe-error.js';
export {
  expandFiles,
  fileInputSchema,
  findFiles,
  type FileInput,
  type FileRoute,
  type FoundFile,
} from './file-inputs.js';
export { loadSkillFolder, type LoadContext, type LoadedFolder } from './load-skill.js';
export {
  longestSkillId,
  manifestName,
  skillIdPattern,
  skillImageNames,
  type JsonSchema,
  type SkillImageName,
  type SkillManifest,
} from './manifest.js';
export {
  ManifestChecker,
  maxManifestBytes,
  type CheckedManifest,
  type LimitsContext,
  type ManifestContext,
} from './manifest-checker.js';
export { nearest } from './nearest.js';
export { parseJson, type LocatedJson, type ParsedJson } from './parse-json.js';
export type { SkillProblem } from './problem.js';
export { SchemaCompiler, type CompileOptions, type ValueCheck } from './schema-compiler.js';
export {
  folderLimits,
  isForProgram,
  readSkillFolder,
  type SkillFile,
  type SkillFolder,
} from './skill-folder.js';
export { SkillRegistry, type SkillRegistryOptions, type SkillSnapshot } from './skill-registry.js';
export type { InvalidSkill, Skill, ValidSkill } from './skill.js';
