import { transformFileSync } from '@swc/core';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { argv } from 'node:process';

/** A program of its own, as the compiler is native and does not survive the end of a thread: sources, target, names… */
const [, , sources = '', target = '', ...names] = argv;
for (const name of names) {
  const { code } = transformFileSync(path.join(sources, name), {
    jsc: { parser: { syntax: 'typescript' }, target: 'es2023' },
    module: { type: 'es6' },
  });
  const file = path.join(target, name.replace(/\.ts$/, '.js'));
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, code);
}
