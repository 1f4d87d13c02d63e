import type { LayeredSkillId } from '@secbox/contracts';

export interface UploadOptions {
  readonly archiveName: string;
  readonly scope: 'baseline' | 'overlay';
  readonly by?: string | null;
  readonly stop?: AbortSignal;
}

export interface UploadedSkill {
  readonly skillId: LayeredSkillId;
  readonly name: string;
  readonly description: string;
  /** Where it is, as callers are told. */
  readonly path: string;
  /** Of a baseline: what is current now, and what was before. */
  readonly version: string | null;
  readonly previous: string | null;
}
