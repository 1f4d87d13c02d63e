import type { ReadableSkill } from '../files/readable-skill.js';
import type { NewContent } from '../store/generations.js';
import type { Tree } from '../tree/tree.js';

/** The mounts that an overlay needs of the host; whoever has the privilege offers them. */
export interface HostMounts {
  /** Lays `upper` over `lower`, the first of them topmost, at `target`. Nothing below may change until it is gone. */
  overlay(mount: OverlayMount): Promise<void>;
  /** Fine when nothing is mounted there. */
  unmount(target: string): Promise<void>;
}

export interface OverlayMount {
  readonly lower: readonly string[];
  readonly upper: string;
  readonly work: string;
  readonly target: string;
}

/** What an exec begins from. */
export interface ExecBase {
  readonly skill: ReadableSkill;
  /** Folders that make up the skill when laid over each other, the first uppermost. None of them changes meanwhile. */
  readonly lowers: readonly string[];
}

/** Something an exec left that no skill can hold. */
export interface SkippedEntry {
  readonly path: string;
  readonly kind: 'symlink' | 'fifo' | 'socket' | 'device' | 'name' | 'too_deep' | 'too_large' | 'protected';
}

/** What a skill is after an exec, as far as it can be kept. */
export interface ExecResult {
  readonly tree: Tree;
  /** Of the files that are not as they were. */
  readonly contents: ReadonlyMap<string, NewContent>;
  readonly skipped: readonly SkippedEntry[];
}

/** The folders that are one exec's. */
export interface ExecPlaces {
  /** Removed when it is over. */
  readonly folder: string;
  /** Where what it writes lies, which may be on a disk of bounded size; the same folder where nobody says otherwise. */
  readonly room: string;
}

/** One way to give an exec a skill to write in, and to see afterwards what it did. */
export interface ExecRoad {
  readonly name: 'overlay' | 'copy';
  /**
   * Makes what is mounted as the work folder, in a folder of the exec's own; gives where it is. An overlay is laid at
   * `wanted` instead, such as the slot of a container that waits.
   */
  begin(places: ExecPlaces, base: ExecBase, wanted?: string): Promise<string>;
  /** When nothing can write any more. Throws when `stop` is aborted before all was seen. */
  collect(places: ExecPlaces, base: ExecBase, target: string, stop?: AbortSignal): Promise<ExecResult>;
  /** Afterwards its folders can be removed. Without a target for what a server before this one left. */
  end(folder: string, target?: string): Promise<void>;
}
