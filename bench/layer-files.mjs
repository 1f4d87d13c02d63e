import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export const TEXT_LINE = 'a line of a file that is long enough to be edited somewhere in its middle, once';

/** @param {number} bytes */
export function bigFile(bytes) {
  return `${TEXT_LINE}\n`.repeat(Math.ceil(bytes / (TEXT_LINE.length + 1)));
}

/**
 * Folders `skill0`, `skill1`, … each with a SKILL.md and files that pack about as well as code does.
 *
 * @param {string} folder
 * @param {number} skills
 * @param {number} files
 * @param {number} bytes
 */
export function makeSkills(folder, skills, files, bytes = 1_000) {
  for (let skill = 0; skill < skills; skill += 1) {
    const root = path.join(folder, `skill${skill}`);
    for (let n = 0; n < 40; n += 1) mkdirSync(path.join(root, `d${n}`), { recursive: true });
    writeFileSync(path.join(root, 'SKILL.md'), `# Skill ${skill}\n`);
    for (let n = 0; n < files - 1; n += 1) {
      writeFileSync(path.join(root, `d${n % 40}`, `f${n}.txt`), textOf(`${skill}/${n}`, bytes));
    }
  }
}

/**
 * @param {string} seed
 * @param {number} bytes
 */
function textOf(seed, bytes) {
  let text = '';
  for (let n = 0; text.length < bytes; n += 1) {
    text += `${createHash('sha256').update(`${seed} ${n}`).digest('hex')} the same words in every line\n`;
  }
  return text.slice(0, bytes);
}

/**
 * @param {string} folder
 * @param {string} archive
 */
export function makeZip(folder, archive) {
  execFileSync('zip', ['-q', '-r', '-X', archive, '.'], { cwd: folder });
}
