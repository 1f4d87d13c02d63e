import { SecboxError } from '@secbox/contracts';
import type { CommandPlace } from './command-place.js';

/** Whether it is a SKILL.md, in whatever case, elsewhere than in the root of a skill. */
export function isProtected(components: readonly string[], kind: CommandPlace['kind']): boolean {
  if (components.at(-1)?.toLowerCase() !== 'skill.md') return false;
  return kind === 'sandbox' || components.length > 1;
}

/** For files that are made, changed, moved or removed by name. */
export function refuseProtected(components: readonly string[], kind: CommandPlace['kind']): void {
  if (!isProtected(components, kind)) return;
  throw new SecboxError('skill_file_protected', 'SKILL.md belongs in the root of a skill.', {
    details: { field: 'path' },
  });
}
