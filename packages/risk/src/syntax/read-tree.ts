import {
  childless,
  errorType,
  maxDepth,
  maxNodes,
  type Building,
  type Parsed,
  type Vocabulary,
} from './grammar.js';

/**
 * Where the parser keeps what we read, in bytes (tree-sitter's `subtree.h`, `tree.h` and `parser.h`, built for wasm).
 * It is the parser's own business: whoever reads by it compares with what the parser says first.
 */
const treeAt = { root: 0, language: 8 };
const languageAt = {
  fieldCount: 32,
  aliasLength: 36,
  fieldSlices: 64,
  fieldEntries: 68,
  publicSymbols: 76,
  aliases: 84,
};
/** A node with children or of some size; a small one lies in its parent's list itself. */
const nodeAt = {
  padding: 4,
  size: 16,
  errorCost: 32,
  childCount: 36,
  symbol: 40,
  flags: 44,
  visibleCount: 48,
  production: 66,
};
const smallNodeAt = { symbol: 1, padding: 6, size: 7 };
const slotBytes = 8;
const fieldEntryBytes = 4;
/** Of one visible node there are so many hidden ones at most. */
const maxSteps = 16 * maxNodes;

/** Its bytes; others when it has grown. */
export interface ParserMemory {
  readonly buffer: ArrayBuffer;
}

/** A list of children that is being read. */
interface Frame {
  readonly up: Frame | undefined;
  /** Where what is visible in it belongs. */
  readonly node: Building;
  /** How many visible nodes are above. */
  readonly depth: number;
  readonly count: number;
  readonly first: number;
  /** Absent ones are 0. */
  readonly aliases: number;
  readonly fields: number;
  readonly fieldsEnd: number;
  /** Of a hidden parent: what it is to the visible one is what its children are. */
  readonly inherited: number;
  position: number;
  at: number;
  /** Counts those that the grammar asks for, not comments. */
  structural: number;
}

/**
 * Copies a tree out of the parser's memory, without a call into it. `address` is that of the tree. Undefined when this is
 * not what a tree looks like.
 */
export function readTree(
  memory: ParserMemory,
  address: number,
  { types, shapes, fields, marks }: Vocabulary,
  text: string,
): Parsed | undefined {
  const bytes = new Uint8Array(memory.buffer);
  const shorts = new Uint16Array(memory.buffer);
  const words = new Uint32Array(memory.buffer);
  const byte = (at: number) => bytes[at] ?? 0;
  const short = (at: number) => shorts[at >>> 1] ?? 0;
  const word = (at: number) => words[at >>> 2] ?? 0;

  const language = word(address + treeAt.language);
  const hasFields = word(language + languageAt.fieldCount) > 0;
  const aliasLength = short(language + languageAt.aliasLength);
  const aliases = word(language + languageAt.aliases);
  const fieldSlices = word(language + languageAt.fieldSlices);
  const fieldEntries = word(language + languageAt.fieldEntries);
  const publicSymbols = word(language + languageAt.publicSymbols);

  const publicOf = (symbol: number) => (symbol === errorType ? errorType : short(publicSymbols + symbol * 2));
  // The parser counts bytes of UTF-16; whole numbers that stay whole need no room of their own.
  const build = (id: number, symbol: number, field: number, start: number, size: number): Building => {
    const shape = shapes[symbol] ?? 'whole';
    const mark = shape === 'mark' ? marks[symbol] : undefined;
    if (mark) return mark;
    return {
      id,
      type: symbol === errorType ? 'ERROR' : (types[symbol] ?? ''),
      field: field === 0 ? '' : (fields[field] ?? ''),
      start: start >>> 1,
      end: (start + size) >>> 1,
      named: shape !== 'token',
      children: childless,
    };
  };
  const enter = (up: Frame | undefined, { parent, node, depth, position, inherited }: Entered): Frame => {
    const count = word(parent + nodeAt.childCount);
    const production = short(parent + nodeAt.production);
    const slice = fieldSlices + production * 4;
    const fieldsAt = fieldEntries + short(slice) * fieldEntryBytes;
    return {
      up,
      node,
      depth,
      count,
      first: parent - count * slotBytes,
      aliases: production === 0 ? 0 : aliases + production * aliasLength * 2,
      fields: fieldsAt,
      fieldsEnd: hasFields ? fieldsAt + short(slice + 2) * fieldEntryBytes : fieldsAt,
      inherited,
      position,
      at: 0,
      structural: 0,
    };
  };

  const top = word(address + treeAt.root);
  if ((top & 1) === 1 || top === 0) return undefined;
  const start = word(top + nodeAt.padding);
  const root = build(0, publicOf(short(top + nodeAt.symbol)), 0, start, word(top + nodeAt.size));
  let error = root.type === 'ERROR' ? root : undefined;
  let count = 0;
  let steps = 0;
  let frame: Frame | undefined = enter(undefined, {
    parent: top,
    node: root,
    depth: 1,
    position: start,
    inherited: 0,
  });
  while (frame) {
    if (frame.at === frame.count) {
      frame = frame.up;
      continue;
    }
    if (++steps > maxSteps) return 'too-complex';
    const slot = frame.first + frame.at * slotBytes;
    const pointer = word(slot);
    const isSmall = (pointer & 1) === 1;
    const flags = isSmall ? pointer >>> 1 : short(pointer + nodeAt.flags);
    const padding = isSmall ? byte(slot + smallNodeAt.padding) : word(pointer + nodeAt.padding);
    const size = isSmall ? byte(slot + smallNodeAt.size) : word(pointer + nodeAt.size);
    let symbol = isSmall ? byte(slot + smallNodeAt.symbol) : short(pointer + nodeAt.symbol);
    let isVisible = (flags & 1) === 1;
    const isExtra = (flags & 4) === 4;
    let field = 0;
    if (!isExtra) {
      const index = frame.structural;
      frame.structural += 1;
      const alias = frame.aliases === 0 ? 0 : short(frame.aliases + index * 2);
      if (alias !== 0) {
        symbol = alias;
        isVisible = true;
      }
      field = frame.inherited;
      for (let entry = frame.fields; entry < frame.fieldsEnd; entry += fieldEntryBytes) {
        if (byte(entry + 2) !== index || byte(entry + 3) !== 0) continue;
        field = short(entry);
        break;
      }
    }
    // The space before the first one is that before its parent.
    const position = frame.at === 0 ? frame.position : frame.position + padding;
    frame.position = position + size;
    frame.at += 1;
    const hasChildren = !isSmall && word(pointer + nodeAt.childCount) > 0;
    if (isVisible) {
      if (frame.depth > maxDepth || ++count > maxNodes) return 'too-complex';
      const type = publicOf(symbol);
      const child = build(count, type, field, position, size);
      if (frame.node.children === childless) frame.node.children = [child];
      else frame.node.children.push(child);
      if (child.type === 'ERROR') error ??= child;
      if (hasChildren && (shapes[type] ?? 'whole') === 'whole')
        frame = enter(frame, {
          parent: pointer,
          node: child,
          depth: frame.depth + 1,
          position,
          inherited: 0,
        });
    } else if (hasChildren && word(pointer + nodeAt.visibleCount) > 0) {
      const { node, depth } = frame;
      frame = enter(frame, { parent: pointer, node, depth, position, inherited: field });
    }
  }
  // A token that the grammar made up to go on leaves no ERROR node behind.
  if (!error && word(top + nodeAt.errorCost) > 0) error = root;
  return { text, root, size: count + 1, error };
}

interface Entered {
  readonly parent: number;
  readonly node: Building;
  readonly depth: number;
  readonly position: number;
  readonly inherited: number;
}
