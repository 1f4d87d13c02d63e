import { readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { compileService } from './compile.mjs';
import { describeFailure } from './failure.mjs';
import { repositoryRoot } from './settings.mjs';

const MAIN = path.join(repositoryRoot, 'apps', 'cli', 'dist', 'main.js');
/** Written when all was compiled; what is newer was not. */
const STAMP = path.join(repositoryRoot, 'apps', 'cli', 'dist', '.compiled');

/** Compiles the command line if its sources have changed. */
async function compileCommandLine() {
  if (newestSource() <= modified(STAMP)) return;
  process.stderr.write('secbox: compiling…\n');
  const projects = ['apps/cli'];
  const { signal } = new AbortController();
  await compileService({ root: repositoryRoot, env: process.env, signal, say: () => undefined, projects });
  writeFileSync(STAMP, '');
}

try {
  await compileCommandLine();
  await import(MAIN);
} catch (error) {
  const { text, exitCode } = describeFailure(error);
  process.stderr.write(`secbox: ${text}\n`);
  process.exitCode = exitCode;
}

/** @returns {number} when a source that it may be made of was last changed */
function newestSource() {
  const packages = path.join(repositoryRoot, 'packages');
  const folders = [
    path.join('apps', 'cli'),
    ...readdirSync(packages).map((name) => path.join('packages', name)),
  ];
  return Math.max(
    ...folders.flatMap((folder) => {
      const src = path.join(repositoryRoot, folder, 'src');
      return readdirSync(src, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
        .map((name) => modified(path.join(src, name)));
    }),
  );
}

/** @param {string} file */
function modified(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
