import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import { Language, Parser, type Tree } from 'web-tree-sitter';
import { assessedLanguages, type AssessedLanguage } from '../language.js';
import { markOf, shapeOf, type Parsed, type Vocabulary } from './grammar.js';
import { readTree, type ParserMemory } from './read-tree.js';
import { walkTree } from './walk-tree.js';

export type Parse = (language: AssessedLanguage, text: string) => Parsed;

const grammars: Record<AssessedLanguage, string> = {
  python: 'tree-sitter-python/tree-sitter-python.wasm',
  bash: 'tree-sitter-bash/tree-sitter-bash.wasm',
  javascript: 'tree-sitter-javascript/tree-sitter-javascript.wasm',
};

/** With names, fields, aliases, hidden nodes, comments and mistakes: what both ways of copying must agree on. */
const samples: Record<AssessedLanguage, string> = {
  python:
    'import a.b as c, d\n# x\n@e\ndef f(g, *h, i=1) -> j:\n  return [k.l(m, n="ö") for m in h if (\n\nprint o',
  bash: 'a=1 b "$(c -d <<E | f)" >&2 # x\n$g\nE\nfor h in {1..3}; do i; done\nif ((',
  javascript:
    'import a, { b as c } from "d"; // x\nclass E { static f = (g, ...h) => `${g}é`; }\nif (i?.j) { k(',
};

/** Node has it; its types leave it out. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => ParserMemory;
};

/** The parser's memory: it takes the one that it is given first, and there is one parser in a thread. */
const memory = new WebAssembly.Memory({ initial: 512, maximum: 32_768 });

interface Grammar {
  readonly parser: Parser;
  readonly vocabulary: Vocabulary;
}

export interface Parses {
  readonly parse: Parse;
  /** The same, which asks the parser for every node. */
  readonly walk: Parse;
  /** The languages whose trees `parse` reads from the parser's memory. */
  readonly read: readonly AssessedLanguage[];
  /** Gives back the memory of the tree before. The next parse would; whoever answers first keeps nobody waiting for it. */
  readonly release: () => void;
}

/** Loads the grammars; the parses that it gives back are synchronous and belong into a thread. */
export async function loadParses(): Promise<Parses> {
  await Parser.init({ wasmMemory: memory });
  const loaded: Record<AssessedLanguage, Grammar> = {
    python: await load('python'),
    bash: await load('bash'),
    javascript: await load('javascript'),
  };
  let left: Tree | undefined;
  const release = () => {
    left?.delete();
    left = undefined;
  };
  const parsed = (name: AssessedLanguage, text: string, copy: Copy): Parsed => {
    const { parser, vocabulary } = loaded[name];
    release();
    parser.reset();
    const tree = parser.parse(inPieces(text));
    if (!tree) return 'too-complex';
    left = tree;
    return copy(tree, vocabulary, text);
  };
  const walk: Parse = (name, text) => parsed(name, text, walkTree);
  // Another version of the parser may keep its trees otherwise; asking it takes longer, and is always right.
  const read = assessedLanguages.filter((name) => {
    const sample = samples[name];
    return isDeepStrictEqual(parsed(name, sample, onlyFromMemory), walk(name, sample));
  });
  return {
    parse: (name, text) => parsed(name, text, read.includes(name) ? fromMemory : walkTree),
    walk,
    read,
    release,
  };
}

const pieceUnits = 1024;

/**
 * A text as the parser asks for it, which is more often than it has to: it copies all that it is given each time. A piece
 * does not end inside of a character.
 */
function inPieces(text: string): (index: number) => string {
  return (index) => {
    const end = index + pieceUnits;
    const isCut = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
    return text.slice(index, isCut ? end + 1 : end);
  };
}

type Copy = (tree: Tree, vocabulary: Vocabulary, text: string) => Parsed;

/** The id of a root node is the address of its tree. */
function readOf(...[tree, vocabulary, text]: Parameters<Copy>): Parsed | undefined {
  return readTree(memory, tree.rootNode.id, vocabulary, text);
}

const onlyFromMemory: Copy = (...given) => readOf(...given) ?? 'too-complex';
const fromMemory: Copy = (...given) => readOf(...given) ?? walkTree(...given);

async function load(name: AssessedLanguage): Promise<Grammar> {
  const resolve = createRequire(import.meta.url).resolve;
  const language = await Language.load(await readFile(resolve(grammars[name])));
  const parser = new Parser();
  parser.setLanguage(language);
  const types = language.types.map(internal);
  const fields = language.fields.map((field) => (field === null ? null : internal(field)));
  const shapes = types.map((type, id) => shapeOf(type, language.nodeTypeIsNamed(id), name === 'bash'));
  return { parser, vocabulary: { types, fields, shapes, marks: types.map(markOf) } };
}

/** The same text as the engine keeps it once: two of those are compared by where they are, not letter by letter. */
function internal(text: string): string {
  return Object.keys({ [text]: true })[0] ?? text;
}
