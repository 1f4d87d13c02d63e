export type { AdmissionLimits } from './admission.js';
export { ExecRunner } from './exec-runner.js';
export type { SubmittedExec } from './submit-once.js';
export { Vault } from './vault.js';
export type { ExecRecords, ExecRunnerOptions } from './runner-options.js';
export { recover, type Recovery } from './recover.js';
export { type ExecEvent, type WatchPosition } from './watch-exec.js';
