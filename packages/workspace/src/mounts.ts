import type { AdaptedPath } from './path-adapter/path-adapter.js';

declare const brand: unique symbol;

/** A host folder that may be mounted; made only in this package, from checked ids. */
export type MountSource = string & { readonly [brand]: 'MountSource' };

/** For this package alone. */
export function mountSource(path: AdaptedPath): MountSource {
  return path.dockerMountPath as MountSource;
}

/** The closed set of what a container sees of the host. */
export interface WorkspaceMounts {
  readonly inputs: MountSource;
  readonly work: MountSource;
  readonly artifacts: MountSource;
  /** Work can be looked at, and not changed. */
  readonly readOnlyWork?: boolean;
}
