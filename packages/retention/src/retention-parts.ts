import type { RetentionSettings } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import type { ProjectKey, RetentionRecords, Tombstone } from './retention-records.js';

export interface RetentionParts {
  readonly records: RetentionRecords;
  readonly workspace: Workspace;
  readonly logger: Logger;
  /** Runs the work while no exec of the project waits or runs; throws `project_in_use` otherwise. */
  readonly whileUnused: <T>(
    project: ProjectKey,
    work: () => Promise<T>,
    options?: { readonly cancel?: boolean },
  ) => Promise<T>;
  /** Unmounts a project's work; false when something on this host is using it. */
  readonly unmount: (folders: { readonly work: string; readonly disk: string }) => Promise<boolean>;
  /** What Settings say at this moment. */
  readonly settings: () => { readonly version: number; readonly retention: RetentionSettings };
  readonly now: () => Date;
}

const dayMs = 86_400_000;

/** What ended or was used last before this moment has been kept long enough; undefined: nothing ever has. */
export function cutoff(
  { settings, now }: RetentionParts,
  setting: keyof RetentionSettings,
): Date | undefined {
  const days = settings().retention[setting];
  return days === undefined ? undefined : new Date(now().getTime() - days * dayMs);
}

/** Nobody but the Settings asked for it. */
export function agedTombstone({ settings, now }: RetentionParts): Tombstone {
  return { at: now().toISOString(), reason: 'retention', by: `settings:${settings().version}` };
}
