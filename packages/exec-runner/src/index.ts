export type { AdmissionLimits } from './admission.js';
export { ExecRunner, type SubmittedExec } from './exec-runner.js';
export type { ExecRecords, ExecRunnerOptions } from './runner-options.js';
export { readAnswer } from './read-answer.js';
export { recover, type Recovery } from './recover.js';
export { type ExecEvent, type WatchPosition } from './watch-exec.js';
