import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath, pathToFileURL, URL } from 'node:url';

/**
 * The thread, run from its sources, for tests: jest compiles what it runs itself, but not the threads that it starts.
 * What was compiled is kept, so that only the first after a change waits for it.
 */
const sources = fileURLToPath(new URL('..', import.meta.url));
const kept = path.join(sources, '../dist/threads-from-sources');
const hourMs = 3_600_000;

const names = readdirSync(sources, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.startsWith('testing'))
  .sort();
const texts = names.map((name) => readFileSync(path.join(sources, name), 'utf8'));
const key = createHash('sha256')
  .update(JSON.stringify([names, texts]))
  .digest('hex')
  .slice(0, 16);
const folder = path.join(kept, key);
if (!existsSync(folder)) compile();
await import(pathToFileURL(path.join(folder, 'threads/assess-thread.js')).href);

function compile() {
  mkdirSync(kept, { recursive: true });
  const half = mkdtempSync(path.join(kept, 'half-'));
  const program = fileURLToPath(new URL('./compile-sources.mjs', import.meta.url));
  execFileSync(execPath, [program, sources, half, ...names]);
  removeOld();
  try {
    renameSync(half, folder);
  } catch (error) {
    // Another test file was faster.
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(folder)) throw error;
  }
}

function removeOld() {
  for (const name of readdirSync(kept)) {
    const old = path.join(kept, name);
    const stats = statSync(old, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs > hourMs) rmSync(old, { recursive: true, force: true });
  }
}
