import type { Piece } from '../piece.js';
import type { Spot } from '../report.js';
import type { Stream } from './stream.js';

/** What a program was given whose danger lies in its arguments. */
export interface Given {
  readonly args: readonly string[];
  /** The arguments that are not options. */
  readonly paths: readonly string[];
  readonly at: Spot;
  readonly stdin: Stream | undefined;
  readonly again: (words: readonly string[]) => void;
}

export type Special = (piece: Piece, given: Given) => void;
