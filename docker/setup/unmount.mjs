import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Unmounts everything below a folder, deepest first.
 *
 * @param {string} folder
 */
export function unmountBelow(folder) {
  if (process.platform !== 'linux') return;
  for (const point of mountsBelow(folder)) {
    // Lazily, as a process that still sits in it must not keep us from going on.
    spawnSync('umount', ['--lazy', point], { stdio: 'ignore' });
  }
}

/**
 * @param {string} folder
 * @returns {string[]} mount points below it, deepest first
 */
export function mountsBelow(folder) {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => unescapeMount(line.split(' ')[1] ?? ''))
    .filter((point) => point.startsWith(`${folder}/`))
    .sort((a, b) => b.length - a.length);
}

/** The kernel writes spaces, tabs, newlines and backslashes of a path as octal numbers.
 * @param {string} text */
function unescapeMount(text) {
  return text.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(String(octal), 8)));
}
