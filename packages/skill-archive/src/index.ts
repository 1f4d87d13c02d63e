export { defaultArchiveLimits, type ArchiveLimits } from './archive-limits.js';
export {
  metadataBytes,
  metadataFiles,
  metadataOf,
  noDescription,
  type SkillMetadata,
} from './skill-metadata.js';
export { longestSkillPath, parseSkillPath } from './skill-path.js';
export type { UnpackedFile } from './unpack-entry.js';
export { unpackSkills, type UnpackedSkill, type UnpackOptions } from './unpack-skills.js';
