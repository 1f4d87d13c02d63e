import { namePattern, type ProjectId } from './ids.js';
import { pageLimit } from './paging.js';

export interface ProjectSummary {
  readonly project_id: ProjectId;
  /** How many it has had since it began. */
  readonly execs: number;
  readonly last_used_at: string;
}

/** What `GET /projects` answers, in the order of the ids; a page may be shorter than asked for, the cursor says whether it is the last. */
export interface ProjectPage {
  readonly projects: readonly ProjectSummary[];
  readonly next_cursor: string | null;
}

export interface ProjectListQuery {
  readonly cursor?: string;
  readonly limit?: number;
}

export interface ProjectDeletionQuery {
  readonly cancel?: 'true' | 'false';
}

/** What is not on the disk any more: files of any kind, and the space that they gave back. */
export interface Freed {
  readonly files: number;
  readonly freed_bytes: number;
}

/** What `DELETE /projects/{project_id}` answers. */
export interface ProjectRemoval extends Freed {
  readonly project_id: ProjectId;
  readonly removed_at: string;
  /** Whose rows got a tombstone by it. */
  readonly execs: number;
  /** False when the disk is still being cleared, of what nobody can reach any more. */
  readonly complete: boolean;
}

/** What `POST /retention/run` answers. */
export interface RetentionRun extends Freed {
  readonly execs: number;
  readonly projects: number;
  /** Of how many projects the inputs were removed, and nothing else. */
  readonly inputs: number;
  readonly contents: number;
  /** Projects of which something was due, but that were in use. */
  readonly in_use: number;
  /** False when there is more to do, which the next run goes on with. */
  readonly complete: boolean;
}

export const projectListQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    cursor: { type: 'string', pattern: namePattern },
    limit: pageLimit,
  },
} as const;

export const projectDeletionQuerySchema = {
  type: 'object',
  additionalProperties: false,
  properties: { cancel: { type: 'string', enum: ['true', 'false'], default: 'false' } },
} as const;
