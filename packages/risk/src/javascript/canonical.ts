import { remembered } from '../values/remembered.js';

/** One name for what has many: fs.promises.rm, fs/promises.rm, node:fs.rmSync are all fs.rm. */
export const canonical = remembered((path) => {
  let plain = path.replace(/^node:/, '');
  // A way from any value to the constructor of all functions.
  if (/(^|\.)constructor\.constructor$/.test(plain) || plain === '<function>.constructor') return 'Function';
  if (plain.startsWith('<constructor>.constructor')) return 'Function';
  plain = plain.replace(/\.default(?=\.|$)/g, '').replace(/\.(globalThis|global|window|self)(?=\.|$)/g, '');
  plain = plain.replace(/^(globalThis|global|window|self|top|parent)\./, '');
  plain = plain
    .replace(/^fs(\/promises|-extra|\.promises)(?=\.|$)/, 'fs')
    .replace(/^graceful-fs(?=\.|$)/, 'fs')
    .replace(/^fs-extra\.(remove|emptyDir)/, 'fs.rm');
  plain = plain.replace(
    /^(module\.constructor|process\.mainModule\.constructor|module\.Module|require\.main\.constructor)\./,
    'module.',
  );
  plain = plain.replace(
    /^(process\.mainModule|module\.parent|require\.main|module\.children\[\])\.require$/,
    'module.require',
  );
  plain = plain.replace(/^process\.getBuiltinModule$/, 'module._load');
  plain = plain
    .replace(/^timers\/promises/, 'timers')
    .replace(/^stream\/promises/, 'stream')
    .replace(/^dns\/promises/, 'dns')
    .replace(/^readline\/promises/, 'readline')
    .replace(/^util\/types/, 'util')
    .replace(/^path\/posix/, 'path')
    .replace(/^assert\/strict/, 'assert');
  return /^(fs|child_process)\.\w+Sync$/.test(plain) ? plain.slice(0, -4) : plain;
});

/** The package that a module's name belongs to. */
export function packageOf(module: string): string {
  const parts = module.replace(/^node:/, '').split('/');
  return module.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
}
