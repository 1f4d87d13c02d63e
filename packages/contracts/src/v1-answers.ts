/** What the calls about skills as files answer, without their envelope. */

export interface UploadedSkillAnswer {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly path: string;
  /** Of a baseline; null in a user's overlay. */
  readonly version: string | null;
}

export interface LayeredSkillStatus {
  readonly status: 'UNCHANGED' | 'MODIFIED' | 'NEW' | 'OUT_OF_SYNC';
  readonly modified: boolean;
  readonly pinned_version: string | null;
  readonly current_version: string | null;
  readonly generation: number;
  readonly deleted: boolean;
}

export interface LayeredSkillAnswer extends LayeredSkillStatus {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly layer: 'global' | 'baseline' | 'overlay';
}

export interface SyncConflict {
  readonly path: string;
  readonly kind: string;
  readonly here: string | null;
  readonly coming: string | null;
  readonly kept_as?: string;
}

export interface BaselinedAnswer {
  readonly version: string | null;
  readonly previous: string | null;
}

export interface SyncedAnswer extends BaselinedAnswer {
  readonly conflicts: readonly SyncConflict[];
}

export interface SkillVersionAnswer {
  readonly version: string;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly origin: string;
  readonly parent: string | null;
  readonly files: number;
  readonly bytes: number;
  readonly current: boolean;
}

export interface SkillDiffAnswer {
  readonly files: readonly {
    readonly path: string;
    readonly change: string;
    readonly before: string | null;
    readonly after: string | null;
    /** Unified; null where the file is no text, or too large or too different. */
    readonly patch: string | null;
  }[];
  readonly truncated: boolean;
}

export interface FileChangeAnswer {
  readonly path: string;
  readonly bytes: number;
  readonly etag: string;
  readonly created: boolean;
}
