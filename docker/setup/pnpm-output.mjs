import { parseJson } from './json.mjs';

const KEPT_MESSAGES = 60;

/**
 * @typedef {object} PnpmEvent a line of pnpm's ndjson reporter; the fields we look at
 * @property {string} [name]
 * @property {string} [level]
 * @property {string} [status]
 * @property {string} [line]
 * @property {string} [depPath]
 * @property {number} [exitCode]
 * @property {number} [added]
 * @property {string} [message]
 * @property {{ message?: string }} [err]
 */

/**
 * Turns what pnpm prints into progress, and keeps what explains a failure.
 *
 * @param {(doing: string) => void} say
 */
export function createPnpmReader(say) {
  const count = { imported: 0, total: 0 };
  /** @type {string[]} */
  const messages = [];
  /** @type {string[]} */
  const unbuilt = [];
  /** @param {string | undefined} text */
  const keep = (text) => {
    if (text === undefined || text.trim() === '') return;
    messages.push(text);
    if (messages.length > KEPT_MESSAGES) messages.shift();
  };

  return {
    /** @param {string} line */
    read(line) {
      const event = parseEvent(line);
      // npx speaks plainly, and so does a pnpm that fails early.
      if (event === undefined) {
        keep(line);
        return;
      }
      if (event.name === 'pnpm:stats' && event.added !== undefined) count.total += event.added;
      if (event.name === 'pnpm:progress' && event.status === 'imported') {
        count.imported += 1;
        say(`installing packages: ${count.imported} of ${Math.max(count.total, count.imported)}`);
      }
      if (event.name === 'pnpm:lifecycle') {
        const built = packageName(event.depPath ?? '');
        keep(event.line);
        if (event.exitCode === undefined) say(`building ${built}${compiling(event.line)}`);
        else if (event.exitCode !== 0) unbuilt.push(built);
      }
      if (event.level === 'error') keep(event.err?.message ?? event.message);
    },
    /** @returns {string | undefined} the package whose build script failed */
    unbuilt: () => unbuilt[0],
    messages: () => [...messages],
  };
}

/**
 * @param {string} line
 * @returns {PnpmEvent | undefined}
 */
function parseEvent(line) {
  try {
    const event = parseJson(line);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

/** @param {string} depPath the package's folder, or its id in the lockfile */
function packageName(depPath) {
  const inFolder = depPath.split('/node_modules/').at(-1) ?? depPath;
  return inFolder.replace(/(.)@.*$/, '$1');
}

/** @param {string | undefined} line */
function compiling(line) {
  const file = /^\s*(?:CC|CXX)\(target\) .*\/([^/]+)\.o$/.exec(line ?? '')?.[1];
  return file === undefined ? '' : `: compiling ${file}`;
}
