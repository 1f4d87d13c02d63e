export type { AdmissionLimits } from './admission.js';
export { artifactsLimit, DiskLimits, type DiskReport, type DiskSettings } from './disk/disk-limits.js';
export { ExecRunner, type SubmitOptions } from './exec-runner.js';
export { type IncomingInput, type Intake, type IntakeLimits } from './intake.js';
export type { SubmittedExec } from './submit-once.js';
export { Vault } from './vault.js';
export type { ExecRecords, ExecRunnerOptions } from './runner-options.js';
export { recover, type Recovery, type ResumableExec } from './recover.js';
export { type ExecEvent, type WatchPosition } from './watch-exec.js';
