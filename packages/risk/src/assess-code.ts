import type { RiskAssessment } from './assessment.js';
import { assessBash } from './bash/assess-bash.js';
import { assessJavascript } from './javascript/assess-javascript.js';
import { runCommand } from './commands/run-command.js';
import type { AssessedLanguage } from './language.js';
import { plainText } from './commands/stream.js';
import { atFolder, type Given, type Piece } from './piece.js';
import { assessPython } from './python/assess-python.js';
import { Report, type Spot } from './report.js';
import type { RuleId } from './rules/catalogue.js';
import type { SyntaxTree } from './syntax/node.js';
import type { Parse } from './syntax/parse.js';
import { hasHiddenCharacters, readable } from './syntax/readable.js';

const maxDepth = 6;
const maxPieces = 200;
const maxSteps = 1_000_000;

const assessors: Record<AssessedLanguage, (piece: Piece) => void> = {
  python: assessPython,
  bash: assessBash,
  javascript: assessJavascript,
};

interface Held {
  readonly line: number;
  readonly column: number;
}

/** Synchronous, and as long as the code makes it: it belongs into a thread with a deadline. */
export function assessCode(
  parse: Parse,
  language: AssessedLanguage,
  code: string,
  { args, stdin }: { readonly args?: readonly string[]; readonly stdin?: string } = {},
): RiskAssessment {
  const work = new Work(parse);
  const given = { ...(args && { args }), ...(stdin !== undefined && { stdin: plainText(stdin) }) };
  work.assess(language, code, 0, undefined, given);
  return work.result();
}

/** The words of a command stand in one line, quoted as a shell would need them. */
export function assessWords(
  parse: Parse,
  words: readonly string[],
  stdin: string | undefined,
): RiskAssessment {
  const work = new Work(parse);
  const text = words.map(quoted).join(' ');
  const root = { id: 0, type: 'command', field: '', start: 0, end: text.length, named: true, children: [] };
  const piece = work.piece({ text, root, size: 1, error: undefined }, 0, undefined, undefined);
  runCommand(piece, {
    words,
    at: root,
    ...(stdin !== undefined && { stdin: plainText(stdin) }),
  });
  return work.result();
}

function quoted(word: string): string {
  return /^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** One request: the code, and all the code inside it. */
class Work {
  readonly #parse: Parse;
  readonly #report = new Report();
  #pieces = 0;
  #steps = 0;

  constructor(parse: Parse) {
    this.#parse = parse;
  }

  assess(
    language: AssessedLanguage,
    raw: string,
    depth: number,
    held: Held | undefined,
    given: Given | undefined,
  ): void {
    const text = readable(language, raw);
    const empty = {
      id: 0,
      type: '',
      field: '',
      start: 0,
      end: Math.min(text.length, 200),
      named: true,
      children: [],
    };
    const piece = this.piece({ text, root: empty, size: 1, error: undefined }, depth, held, language);
    if (depth > maxDepth || ++this.#pieces > maxPieces) {
      piece.add('cannot-tell.nested-too-deeply', empty);
      return;
    }
    if (hasHiddenCharacters(raw)) piece.add('cannot-tell.hidden-characters', empty);
    const tree = this.#parse(language, text);
    if (tree === 'too-complex') {
      piece.add('cannot-tell.too-complex', empty);
      return;
    }
    if (tree.error) piece.add('cannot-tell.parse-error', tree.error);
    const started = { ...piece, tree, given };
    assessors[language](given?.folder === undefined ? started : atFolder(started, given.folder));
  }

  piece(
    tree: SyntaxTree,
    depth: number,
    held: Held | undefined,
    language: AssessedLanguage | undefined,
  ): Piece {
    const { text, root } = tree;
    const lines = held ? [] : lineStarts(text);
    const place = (at: Spot): Held => held ?? placeIn(lines, at.start);
    const add = (rule: RuleId, at: Spot): void => {
      this.#report.add(rule, place(at), text.slice(at.start, at.end), held && language);
    };
    return {
      tree,
      add,
      fact: (fact) => this.#report.facts.add(fact),
      runs: (inner, code, at, given) => this.assess(inner, code, depth + 1, place(at), given),
      spend: () => {
        this.#steps += 1;
        if (this.#steps === maxSteps) add('cannot-tell.too-complex', root);
        return this.#steps < maxSteps;
      },
    };
  }

  /** With what is worse together than apart. */
  result(): RiskAssessment {
    const report = this.#report;
    const { facts } = report;
    const add = (rule: RuleId) => report.add(rule, { line: 1, column: 1 }, '', undefined);
    if (facts.has('network') && facts.has('credential')) add('network.exfiltration');
    if (facts.has('socket') && (facts.has('shell') || facts.has('redirects-streams'))) add('network.shell');
    if (facts.has('hands-on-module') && facts.has('computed-member')) add('name.computed');
    return report.result();
  }
}

function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function placeIn(lines: readonly number[], offset: number): Held {
  let low = 0;
  let high = lines.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((lines[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, column: offset - (lines[low] ?? 0) + 1 };
}
