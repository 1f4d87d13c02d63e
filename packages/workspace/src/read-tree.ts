import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type BigIntStats,
} from 'node:fs';

export interface TreeLimits {
  /** Of files and folders together. */
  readonly maxEntries: number;
  readonly maxDepth: number;
  readonly maxFileBytes: number;
  readonly maxBytes: number;
}

export interface TreeEntry {
  readonly path: readonly string[];
  /** False when the name is not UTF-8, so that `path` is only an approximation. */
  readonly isExact: boolean;
  /** Of the entry itself, from before it was read. */
  readonly stats: BigIntStats;
  /** Of a regular file; absent for what is larger than the limits, is no file, or was not asked for. */
  readonly content?: Buffer;
}

export interface Tree {
  readonly entries: readonly TreeEntry[];
  /** What was not read because of a limit. */
  readonly exceeded: readonly { readonly limit: keyof TreeLimits; readonly path: readonly string[] }[];
}

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const fileFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Reads a small folder whole, at once: it holds everybody up meanwhile, and is some ten times quicker than
 * asking for each part in turn. Follows nothing, opens nothing but regular files. Fails with ENOENT, ENOTDIR or ELOOP
 * when the folder is none.
 */
export function readTree(folder: string, limits: TreeLimits, { contents = true } = {}): Tree {
  const entries: TreeEntry[] = [];
  const exceeded: { limit: keyof TreeLimits; path: readonly string[] }[] = [];
  let bytes = 0;

  const contentOf = (file: number, size: bigint, path: readonly string[]): Buffer | undefined => {
    const content = size > limits.maxFileBytes ? undefined : readWhole(file, Number(size));
    if (!content) exceeded.push({ limit: 'maxFileBytes', path });
    else if ((bytes += content.length) > limits.maxBytes) exceeded.push({ limit: 'maxBytes', path });
    else return content;
    return undefined;
  };
  /** What the folder's list says is a file is opened right away: that tells of it, too. */
  const readFile = (at: string | Buffer, path: readonly string[]) => {
    const file = openSync(at, fileFlags);
    try {
      const stats = fstatSync(file, { bigint: true });
      const content = stats.isFile() ? contentOf(file, stats.size, path) : undefined;
      return { stats, ...(content && { content }) };
    } finally {
      closeSync(file);
    }
  };
  const visit = (at: string, above: readonly string[]): void => {
    const handle = openSync(at, folderFlags);
    try {
      const base = process.platform === 'linux' ? `/proc/self/fd/${handle}` : at;
      for (const listed of readdirSync(base, { encoding: 'buffer', withFileTypes: true })) {
        const { name } = listed;
        const text = name.toString('utf8');
        const path = [...above, text];
        if (entries.length >= limits.maxEntries) {
          exceeded.push({ limit: 'maxEntries', path });
          return;
        }
        const isExact = Buffer.from(text).equals(name);
        const full = isExact ? `${base}/${text}` : Buffer.concat([Buffer.from(`${base}/`), name]);
        const found =
          contents && listed.isFile() ? readFile(full, path) : { stats: lstatSync(full, { bigint: true }) };
        entries.push({ path, isExact, ...found });
        if (!found.stats.isDirectory()) continue;
        if (path.length > limits.maxDepth || typeof full !== 'string')
          exceeded.push({ limit: 'maxDepth', path });
        else visit(full, path);
      }
    } finally {
      closeSync(handle);
    }
  };
  visit(folder, []);
  return { entries, exceeded };
}

/** Undefined when there is more than there was a moment ago. */
function readWhole(file: number, size: number): Buffer | undefined {
  // With room for one byte more, one call sees both what is there and that it was all.
  const buffer = Buffer.alloc(size + 1);
  let length = 0;
  for (;;) {
    const bytesRead = readSync(file, buffer, length, buffer.length - length, length);
    length += bytesRead;
    if (length > size) return undefined;
    if (bytesRead === 0 || length === size) return buffer.subarray(0, length);
  }
}
