import type { Stream } from './commands/stream.js';
import type { AssessedLanguage } from './language.js';
import type { Fact, Spot } from './report.js';
import { below } from './place.js';
import type { RuleId } from './rules/catalogue.js';
import type { SyntaxTree } from './syntax/node.js';

/** What a program is started with; parameters that are not known are not the same as none. */
export interface Given {
  readonly args?: readonly string[];
  readonly stdin?: Stream;
  /** Where it is started, if that is not where everything was. */
  readonly folder?: string;
}

/** One parsed piece of code and where to tell what is found in it. */
export interface Piece {
  readonly tree: SyntaxTree;
  readonly given?: Given | undefined;
  /** What relative paths are below, if that is none of its own. */
  readonly folder?: string | undefined;
  add(rule: RuleId, at: Spot): void;
  fact(fact: Fact): void;
  /** Assesses a text that this piece runs as code; what is found is told at the place that holds the text. */
  runs(language: AssessedLanguage, code: string, at: Spot, given?: Given): void;
  /** Counts work done. Past the bound everything is unknown, and the piece says that it cannot tell. */
  spend(): boolean;
}

/** The piece as what runs in that folder sees it. */
export function atFolder(piece: Piece, named: string): Piece {
  const folder = below(piece.folder, named);
  return {
    ...piece,
    folder,
    runs: (language, code, at, given) => piece.runs(language, code, at, { folder, ...given }),
  };
}
