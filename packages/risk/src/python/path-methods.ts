import type { Touch } from '../commands/touch-path.js';

/** What changes a file, and has a name that little else has. */
export const changingMethods: ReadonlyMap<string, Touch> = new Map<string, Touch>([
  ['write_text', 'write'],
  ['write_bytes', 'write'],
  ['touch', 'write'],
  ['unlink', 'delete'],
  ['rmdir', 'delete'],
]);

export const pathMethods: ReadonlyMap<string, Touch> = new Map<string, Touch>([
  ...changingMethods,
  ['read_text', 'read'],
  ['read_bytes', 'read'],
  ['iterdir', 'read'],
  ['mkdir', 'write'],
  ['chmod', 'write'],
  ['symlink_to', 'write'],
  ['hardlink_to', 'write'],
  ['rename', 'write'],
]);
