/** The files of an exec: those that it could see, and those that it left behind. */
export interface ExecEvidence {
  readonly inputs: readonly InputRecord[];
  readonly artifacts: readonly ArtifactRecord[];
}

export const noEvidence: ExecEvidence = { inputs: [], artifacts: [] };

/** Of a secret input only that it was there. */
export type InputRecord =
  | { readonly path: string; readonly size: number; readonly sha256: string }
  | { readonly path: string; readonly secret: true };

/** What was kept of the output has kinds of its own; everything else is what the program left in its folder. */
export const artifactKinds = [
  'file',
  'folder',
  'stdout',
  'stderr',
  'symlink',
  'fifo',
  'socket',
  'block_device',
  'character_device',
  'unreadable',
] as const;
export type ArtifactKind = (typeof artifactKinds)[number];

export const dropReasons = ['over_total', 'too_deep'] as const;
export type DropReason = (typeof dropReasons)[number];

export interface ArtifactRecord {
  readonly path: string;
  /** The raw bytes, where the name is not UTF-8 and `path` is only an approximation. */
  readonly path_base64?: string;
  readonly kind: ArtifactKind;
  /** Only regular files have size, hash and type; of a dropped one only the size is known. */
  readonly size: number | null;
  readonly sha256: string | null;
  readonly media_type: string | null;
  /** Why it was removed instead of kept. */
  readonly dropped: DropReason | null;
}
