import { SecboxError } from '@secbox/contracts';
import { type CommandPlace, workFolder } from './command-place.js';
import { isProtected } from './skill-file.js';

/**
 * Where in an argument a path may begin, besides its start: after `--name=`, `name=` and `@`, as curl has it, and right
 * behind a short option.
 */
const prefix = /^(?:--?[A-Za-z][\w-]*=|[A-Za-z_]\w*=|-[A-Za-z](?=\/)|@)/;
/** Not part of a longer run of dots or of a word, as in `1..9` or `wait...`. */
const upwards = /(?<![\p{L}\p{N}_.])\.\.(?![\p{L}\p{N}_.])/u;
const fileUrl = /^file:/i;

/** The argument as the container is to see it. */
export function guardArgument(argument: string, index: number, place: CommandPlace): string {
  const refuse = (why: string) =>
    new SecboxError('command_refused', `Argument ${index + 1} ${why}.`, {
      details: { field: 'args', index },
    });
  if (upwards.test(argument)) throw refuse('leads upwards with ".."');
  const before = prefix.exec(argument)?.[0] ?? '';
  const rest = argument.slice(before.length);
  if (fileUrl.test(rest)) throw refuse('is a file: address');
  const path = rest.startsWith('/') ? inContainer(rest, place) : rest;
  if (path === undefined) throw refuse(`is an absolute path outside ${place.printedRoot}`);
  if (isProtected(componentsInPlace(path), place.kind)) {
    throw new SecboxError(
      'skill_file_protected',
      `Argument ${index + 1}: SKILL.md belongs in the root of a skill.`,
      {
        details: { field: 'args', index },
      },
    );
  }
  return before + path;
}

/** Undefined for what is elsewhere. The container's own name of the folder is as good as the one that was told. */
function inContainer(path: string, { printedRoot, otherRoots = [] }: CommandPlace): string | undefined {
  for (const printed of [printedRoot, ...otherRoots, workFolder]) {
    const root = printed.replace(/\/+$/, '');
    if (root !== '' && (path === root || path.startsWith(`${root}/`)))
      return workFolder + path.slice(root.length);
  }
  return undefined;
}

function componentsInPlace(path: string): string[] {
  const inside = path.startsWith(`${workFolder}/`) ? path.slice(workFolder.length) : path;
  return inside.split('/').filter((component) => component !== '' && component !== '.');
}
