export { ApiError, ConnectionError } from './api-error.js';
export type { Audit } from './audit.js';
export { SecboxClient } from './client.js';
export type { Code } from './code.js';
export type { ConnectionOptions } from './connection.js';
export type { EventOptions, ExecEvent } from './exec-events.js';
export type { Artifact, Execs, WaitOptions } from './execs.js';
export type { LayeredSkill, LayeredSkills, UploadOptions } from './layered-skills.js';
export type { RetryOptions } from './retry.js';
export type { Skills } from './skills.js';
export type { StoredFile } from './stored-file.js';
export type { SubmitOptions } from './submitting.js';
export type { ChangeOptions, Lines, UserFiles } from './user-files.js';
export {
  isFinal,
  type ErrorKind,
  type BaselinedAnswer,
  type ExecAnswer,
  type ExecCommand,
  type ExecExportQuery,
  type ExecFilter,
  type ExecListQuery,
  type ExecPage,
  type ExecRecord,
  type ExecRequest,
  type ExecStats,
  type ExecStatus,
  type ExecutedCommand,
  type FileChangeAnswer,
  type InvocationAnswer,
  type InvocationRequest,
  type LayeredSkillAnswer,
  type LayeredSkillStatus,
  type RunCodeAnswer,
  type RunCodeRequest,
  type SkillAnswer,
  type SkillDetail,
  type SkillDiffAnswer,
  type SkillFileListing,
  type SkillPage,
  type SkillVersionAnswer,
  type SyncedAnswer,
  type UploadedSkillAnswer,
} from '@secbox/contracts';
