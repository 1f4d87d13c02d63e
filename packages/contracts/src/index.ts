export { errorCodes, errorKinds, httpStatusOf, type ErrorCode, type ErrorKind } from './error-codes.js';
export { SecboxError, type SecboxErrorOptions } from './errors.js';
export {
  answeredArtifacts,
  answeredOutputBytes,
  type ArtifactListing,
  type ArtifactSummary,
  type ExecAnswer,
  type InputListing,
} from './exec-answer.js';
export {
  artifactKinds,
  dropReasons,
  noEvidence,
  type ArtifactKind,
  type ArtifactRecord,
  type DropReason,
  type ExecEvidence,
  type InputRecord,
} from './exec-evidence.js';
export {
  removalReasons,
  startModes,
  type EndedExec,
  type ExecOutcome,
  type ExecRecord,
  type ExecStart,
  type ExecSubmission,
  type ExecTombstone,
  type FinishedExec,
  type RemovalReason,
  type SandboxType,
  type StartMode,
} from './exec-record.js';
export {
  execStatuses,
  isFinal,
  nextStatuses,
  statusesBefore,
  type ExecStatus,
  type FinalExecStatus,
} from './exec-status.js';
export {
  defaultTenant,
  execIdPattern,
  namePattern,
  newExecId,
  parseExecId,
  parseProjectId,
  parseTenantId,
  type ExecId,
  type ProjectId,
  type TenantId,
} from './ids.js';
export {
  execRequestSchema,
  type ExecCommand,
  type ExecInput,
  type ExecKind,
  type ExecRequest,
  type TaskRef,
} from './exec-request.js';
export {
  limitFields,
  policyLayers,
  type LimitField,
  type NetMode,
  type PolicyLayer,
  type PolicySnapshot,
  type PolicyValues,
} from './policy-values.js';
export {
  settingsSchema,
  type RetentionSettings,
  type SandboxSettings,
  type Settings,
  type SettingsVersion,
} from './settings.js';
export {
  projectDeletionQuerySchema,
  projectListQuerySchema,
  type Freed,
  type ProjectDeletionQuery,
  type ProjectListQuery,
  type ProjectPage,
  type ProjectRemoval,
  type ProjectSummary,
  type RetentionRun,
} from './projects.js';
export {
  execExportQuerySchema,
  execFilterSchema,
  execListQuerySchema,
  execSorts,
  exportFormats,
  pageQuerySchema,
  type ExecExportQuery,
  type ExecFilter,
  type ExecListQuery,
  type ExecPage,
  type ExecSort,
  type ExportFormat,
  type PageQuery,
} from './exec-query.js';
export type { ExecFigures, ExecGroup, ExecStats } from './exec-stats.js';
export {
  artifactListingSchema,
  errorSchema,
  execAnswerSchema,
  execPageSchema,
  execRecordSchema,
  execStatsSchema,
  healthSchema,
  inputListingSchema,
  projectPageSchema,
  projectRemovalSchema,
  retentionRunSchema,
  policySnapshotSchema,
  settingsHistorySchema,
  settingsVersionSchema,
} from './answer-schemas.js';
