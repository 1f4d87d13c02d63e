/** What an exec did to the files of a layered skill, as its row and its answer tell it; meta.json has all of it. */
export interface LayerEffects {
  /** Whether it is in the user's overlay now. */
  readonly kept: boolean;
  /** Why not, where it is not. */
  readonly reason: string | null;
  readonly added: readonly AddedFile[];
  readonly changed: readonly ChangedFileEffect[];
  readonly deleted: readonly DeletedFile[];
  /** What both it and somebody else changed meanwhile; where its own lies beside, `kept_as` says so. */
  readonly conflicts: readonly EffectConflict[];
  /** What it left that no skill can hold. */
  readonly skipped: readonly { readonly path: string; readonly kind: string }[];
  readonly totals: {
    readonly added: number;
    readonly changed: number;
    readonly deleted: number;
    readonly conflicts: number;
    readonly skipped: number;
  };
}

export interface AddedFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface ChangedFileEffect extends AddedFile {
  /** The hash of what it was. */
  readonly before: string;
}

export interface DeletedFile {
  readonly path: string;
  readonly sha256: string;
}

export const effectConflictKinds = ['changed', 'deleted', 'restored', 'blocked'] as const;

export interface EffectConflict {
  readonly path: string;
  readonly kind: (typeof effectConflictKinds)[number];
  readonly here: string | null;
  readonly coming: string | null;
  readonly kept_as?: string;
}

/** How many of each list a row and an answer hold. */
export const toldEffects = 100;

/** As a row holds it; `totals` say how many there were. */
export function shortened(effects: LayerEffects): LayerEffects {
  const first = <T>(list: readonly T[]) => list.slice(0, toldEffects);
  return {
    ...effects,
    added: first(effects.added),
    changed: first(effects.changed),
    deleted: first(effects.deleted),
    conflicts: first(effects.conflicts),
    skipped: first(effects.skipped),
  };
}
