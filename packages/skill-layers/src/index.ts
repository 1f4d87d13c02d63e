export { type Baselined, type Synced, type SyncOptions } from './baselining.js';
export { type FindingLimits } from './exec/exec-findings.js';
export {
  type BeginOptions,
  type BegunExec,
  type CommitOptions,
  type ExecEffects,
  type SkillIdentity,
} from './exec/exec-layers.js';
export { type HostMounts, type OverlayMount, type SkippedEntry } from './exec/exec-road.js';
export { type FileListing, type OpenFile } from './files/readable-skill.js';
export { type ChangedFile, type Precondition, type WriteOptions } from './files/skill-files.js';
export { type SkillLayersOptions } from './layers-options.js';
export { SkillLayers } from './skill-layers.js';
export { type ListedSkill } from './skill-list.js';
export { type SkillState, type SkillStatus } from './skill-status.js';
export { type TrashedItem, type TrashedSandbox, type TrashedSkill } from './skill-trash.js';
export { type VersionRecord } from './store/baseline-store.js';
export { type BaselinePlace, globalPackId, type SkillPlace, type UserPlace } from './store/layer-paths.js';
export { type Conflict, type ConflictKind } from './tree/merge.js';
export { type CleanedUp, type Collected, type IdleOptions } from './upkeep.js';
export { type UploadedSkill, type UploadOptions } from './upload.js';
export { pageOfVersions, type VersionPage } from './version-page.js';
export { type DiffSide, type FileDiff, type SkillDiff } from './versions.js';
