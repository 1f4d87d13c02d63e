export type { DiskPlace } from './move-into-image.js';
export { ProgramError, runSystemProgram } from './system-program.js';
export { WorkDisks, type WorkDisksOptions } from './work-disks.js';
