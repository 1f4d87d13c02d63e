import { hole } from '../place.js';

/** Options of programs that are for something else, of which the value is a command; `-x` also with its value glued to it. */
const options: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    tar: [
      '--to-command',
      '--use-compress-program',
      '-I',
      '--rsh-command',
      '--info-script',
      '--new-volume-script',
      '-F',
    ],
    cpio: ['--rsh-command'],
    sort: ['--compress-program'],
    split: ['--filter'],
    rg: ['--pre', '--hostname-bin'],
    zip: ['-TT', '--unzip-command'],
    rsync: ['-e', '--rsh', '--rsync-path'],
    pandoc: ['--filter', '-F', '--lua-filter', '-L', '--pdf-engine'],
    bind: ['-x'],
  }),
);

/** The commands that a program is told to run by its options. */
export function commandsIn(name: string, args: readonly string[]): readonly string[] {
  const known = options.get(name);
  if (!known) return [];
  const commands: string[] = [];
  for (const [index, arg] of args.entries()) {
    for (const option of known) {
      if (arg === option) commands.push(args[index + 1] ?? hole);
      else if (option.startsWith('--') && arg.startsWith(`${option}=`))
        commands.push(arg.slice(option.length + 1));
      else if (option.length === 2 && arg.startsWith(option)) commands.push(arg.slice(2));
    }
    // --checkpoint-action=exec=… of tar, also in two words.
    const [, action] = name === 'tar' ? (/^(?:--checkpoint-action=)?exec=([^]*)$/.exec(arg) ?? []) : [];
    if (action !== undefined) commands.push(action);
  }
  return commands;
}
