/** Where a command runs: at the root of one skill, or of the general sandbox. */
export interface CommandPlace {
  readonly kind: 'skill' | 'sandbox';
  /** The path that callers are told, as by an upload. Below it, an absolute argument means the work folder. */
  readonly printedRoot: string;
  /** Other paths that callers are told for the same, as by an upload of a baseline. */
  readonly otherRoots?: readonly string[];
}

/** What callers' files are inside the container. */
export const workFolder = '/workspace/work';
