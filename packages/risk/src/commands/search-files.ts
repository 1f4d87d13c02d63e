import type { Piece } from '../piece.js';
import { hole } from '../place.js';
import type { Given } from './special.js';
import { readPaths, touchPath } from './touch-path.js';

export function findFiles(piece: Piece, { args, at, again }: Given): void {
  const firstOption = args.findIndex((arg) => arg.startsWith('-') || arg === '(' || arg === '!');
  const roots = firstOption < 0 ? args : args.slice(0, firstOption);
  const below = roots.length === 0 ? ['.'] : roots;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? '';
    if (arg === '-delete') for (const root of below) touchPath(piece, 'delete-tree', root, at);
    if (arg === '-fprint' || arg === '-fprint0' || arg === '-fprintf' || arg === '-fls')
      touchPath(piece, 'write', args[index + 1] ?? hole, at);
    if (!/^-(exec|execdir|ok|okdir)$/.test(arg)) continue;
    const rest = args.slice(index + 1);
    const end = rest.findIndex((word) => word === ';' || word === '+' || word === '\\;');
    const command = end < 0 ? rest : rest.slice(0, end);
    for (const root of below) again(filledWith(command, root));
    index += command.length;
  }
  if (!args.includes('-delete')) readPaths(piece, roots, at);
}

const execOfFd = /^(?:--exec(?:-batch)?(?:=|$)|-[HIusgiaplLF01q]*[xX])([^]*)$/;
const placeholderOfFd = /\{(\/|\/\/|\.|\/\.)?\}/g;

/** fd, which runs a command for what it has found as find does; without braces the path is the last word. */
export function searchFiles(piece: Piece, { args, at, again }: Given): void {
  const first = args.findIndex((arg) => execOfFd.test(arg));
  const [, ...roots] = (first < 0 ? args : args.slice(0, first)).filter((arg) => !arg.startsWith('-'));
  readPaths(piece, roots, at);
  for (let index = 0; index < args.length; index += 1) {
    const [, glued] = execOfFd.exec(args[index] ?? '') ?? [];
    if (glued === undefined) continue;
    const end = args.indexOf(';', index);
    const words = args.slice(index + 1, end < 0 ? undefined : end);
    const command = [...(glued === '' ? [] : [glued]), ...words].map((word) =>
      word.replace(placeholderOfFd, '{}'),
    );
    const whole = command.some((word) => word.includes('{}')) ? command : [...command, '{}'];
    for (const root of roots.length === 0 ? ['.'] : roots) again(filledWith(whole, root));
    index += words.length;
  }
}

function filledWith(command: readonly string[], root: string): readonly string[] {
  const filled = command.map((word) => word.replaceAll('{}', root));
  // Of all files below a folder, deleting each is deleting the folder.
  return /(^|\/)(rm|unlink|shred)$/.test(command[0] ?? '') ? [...filled, '-r'] : filled;
}
