import { remembered } from '../values/remembered.js';
import { hiddenModules } from './known-names.js';

const aliases: Readonly<Record<string, string>> = {
  posix: 'os',
  nt: 'os',
  __builtin__: 'builtins',
  __builtins__: 'builtins',
  _io: 'io',
  'io.open': 'builtins.open',
  posixpath: 'os.path',
  ntpath: 'os.path',
  cPickle: 'pickle',
  _pickle: 'pickle',
  _socket: 'socket',
  'numpy.random': 'numpy.random',
};

/** Attributes that are the object itself, or lead back to it. */
const transparent = new Set(['__call__', '__func__', '__wrapped__', '__self__']);

/** One name for what has many: random._os.system, logging.os.system and posix.system are all os.system. */
export const canonical = remembered((path) => {
  let parts = path.split('.').filter((part) => !transparent.has(part));
  // os.path is a module of its own, and nobody hides behind it.
  for (let index = parts.length - 1; index > 0; index -= 1) {
    const plain = (parts[index] ?? '').replace(/^_+/, '').replace(/_+$/, '');
    if (!hiddenModules.has(plain) || parts[0]?.startsWith('?') || parts[0] === '<names>') continue;
    if (plain === 'code' || plain === 'commands') continue;
    parts = [plain, ...parts.slice(index + 1)];
    break;
  }
  const joined = parts.join('.');
  const [top = ''] = parts;
  const alias =
    aliases[joined] ?? (aliases[top] === undefined ? undefined : [aliases[top], ...parts.slice(1)].join('.'));
  return alias ?? joined;
});
