export { errorCodes, errorKinds, httpStatusOf, type ErrorCode, type ErrorKind } from './error-codes.js';
export { SecboxError, type SecboxErrorOptions } from './errors.js';
export { answeredOutputBytes, type ArtifactSummary, type ExecAnswer } from './exec-answer.js';
export type { ExecOutcome, ExecRecord, ExecSubmission, FinishedExec } from './exec-record.js';
export { execStatuses, isFinal, type ExecStatus, type FinalExecStatus } from './exec-status.js';
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
export { settingsSchema, type SandboxSettings, type Settings, type SettingsVersion } from './settings.js';
