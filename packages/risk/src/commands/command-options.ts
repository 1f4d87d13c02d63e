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

/** The value that is glued to a long option, which GNU's programs let one cut short; empty where it is the next word. */
export function longValue(arg: string, option: string): string | undefined {
  if (!option.startsWith('--') || !arg.startsWith('--') || arg.length < 3) return undefined;
  const end = arg.indexOf('=');
  if (!option.startsWith(end < 0 ? arg : arg.slice(0, end))) return undefined;
  return end < 3 ? '' : arg.slice(end + 1);
}

/** The commands that a program is told to run by its options. */
export function commandsIn(name: string, args: readonly string[]): readonly string[] {
  const known = options.get(name);
  if (!known) return [];
  const commands: string[] = [];
  for (const [index, arg] of args.entries()) {
    for (const option of known) {
      const long = longValue(arg, option);
      if (arg === option || long === '') commands.push(args[index + 1] ?? hole);
      else if (long !== undefined) commands.push(long);
      else if (option.length === 2 && arg.startsWith(option)) commands.push(arg.slice(2));
    }
    // --checkpoint-action=exec=… of tar, also in two words.
    const [, action] = name === 'tar' ? (/^(?:--checkpoint-[a-z]*=)?exec=([^]*)$/.exec(arg) ?? []) : [];
    if (action !== undefined) commands.push(action);
  }
  return commands;
}
