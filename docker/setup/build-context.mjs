import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { Failure } from './failure.mjs';

const BLOCK = 512;

/**
 * @typedef {object} ContextFile
 * @property {string} name relative, with forward slashes
 * @property {boolean} executable
 * @property {Buffer} content
 */

/**
 * The files of an image's folder. Documents are left out: they change nothing
 * in the image, so they must not cause a rebuild. Of a file's mode only
 * "executable" counts, as that is all that git keeps.
 *
 * @param {string} folder
 * @returns {ContextFile[]} in the order of their names
 */
export function readContext(folder) {
  /** @type {ContextFile[]} */
  const files = [];
  /** @param {string} below */
  const walk = (below) => {
    for (const entry of readdirSync(path.join(folder, below), { withFileTypes: true })) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) walk(name);
      else if (entry.isFile() && !isDocument(name)) {
        const full = path.join(folder, name);
        files.push({ name, executable: (statSync(full).mode & 0o100) !== 0, content: readFileSync(full) });
      }
    }
  };
  walk('');
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** @param {string} name */
function isDocument(name) {
  return name.endsWith('.md') || name.split('/').some((part) => part.startsWith('.'));
}

/**
 * @param {readonly ContextFile[]} files
 * @param {string} base
 * @returns {string} the tag of the image made of exactly these files on this base
 */
export function contentTag(files, base) {
  const hash = createHash('sha256').update(`${base}\0`);
  for (const { name, executable, content } of files) {
    hash.update(`${name}\0${executable ? 'x' : '-'}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex').slice(0, 12);
}

/**
 * @param {readonly ContextFile[]} files
 * @returns {Buffer} a tar archive (ustar)
 */
export function writeTar(files) {
  const parts = files.flatMap(({ name, executable, content }) => [
    header(name, executable ? 0o755 : 0o644, content.length),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ]);
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

/**
 * @param {Buffer} archive
 * @returns {Buffer} the content of the first regular file in a tar archive
 */
export function readTarFile(archive) {
  for (let at = 0; at + BLOCK <= archive.length;) {
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8);
    const type = archive.toString('latin1', at + 156, at + 157);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    if (!Number.isInteger(size) || content.length !== size) break;
    if (type === '0' || type === '\0') return content;
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  throw new Failure('The engine handed out an archive without a file, or half of one.');
}

/**
 * @param {string} name
 * @param {number} mode
 * @param {number} size
 */
function header(name, mode, size) {
  const block = Buffer.alloc(BLOCK);
  const [prefix, rest] = splitName(name);
  /** @param {number} value @param {number} width */
  const octal = (value, width) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(rest, 0, 100);
  block.write(octal(mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(0, 12), 136);
  block.write(' '.repeat(8), 148);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345, 155);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/**
 * @param {string} name
 * @returns {[prefix: string, rest: string]}
 */
function splitName(name) {
  if (Buffer.byteLength(name) <= 100) return ['', name];
  for (let slash = name.indexOf('/'); slash !== -1; slash = name.indexOf('/', slash + 1)) {
    const [prefix, rest] = [name.slice(0, slash), name.slice(slash + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(rest) <= 100) return [prefix, rest];
  }
  throw new Failure(`The name ${name} is too long for a tar archive.`);
}
