import type { Piece } from '../piece.js';
import { hole, isVital, placeOf } from '../place.js';
import type { Spot } from '../report.js';
import type { Given, Special } from './special.js';
import { runAwk } from './awk.js';
import { longValue } from './command-options.js';
import { assessSetting, assessUnsetting } from './environment.js';
import { findFiles, searchFiles } from './search-files.js';
import { runSed } from './sed.js';
import { readPaths, touchPath } from './touch-path.js';

/** Programs whose danger lies in their arguments. */
export const specialCommands: Partial<Record<string, Special>> = Object.assign(
  Object.create(null) as object,
  {
    rm: (piece, { args, paths, at }) => {
      const recursive = args.some((arg) => /^-[a-zA-Z]*[rR]/.test(arg) || /^--(r|no-p)/.test(arg));
      for (const path of paths) touchPath(piece, recursive ? 'delete-tree' : 'delete', path, at);
    },
    rmdir: (piece, { paths, at }) => {
      for (const path of paths) touchPath(piece, 'delete', path, at);
    },
    unlink: (piece, { paths, at }) => {
      for (const path of paths) touchPath(piece, 'delete', path, at);
    },
    shred: (piece, { paths, at }) => {
      for (const path of paths) touchPath(piece, 'delete-tree', path, at);
    },
    chmod: (piece, { args, at }) => {
      const [mode = '', ...paths] = args.filter((arg) => !/^-[RvfcH]+$/.test(arg) && !arg.startsWith('--'));
      changePermissions(piece, { setsId: /^[2467]\d{3}$|[ug]\+?[rwx]*s|\+s/.test(mode), paths, at });
    },
    chown: (piece, { paths, at }) => changePermissions(piece, { setsId: false, paths: paths.slice(1), at }),
    chgrp: (piece, { paths, at }) => changePermissions(piece, { setsId: false, paths: paths.slice(1), at }),
    kill: (piece, { args, paths, at }) => {
      // Its own children, by $! or %1, are its own business.
      const own = paths.filter((path) => !/^-?\d+$/.test(path)).every((path) => path.startsWith('%'));
      if (args.includes('-l') || (own && paths.length > 0 && !args.includes('-1'))) return;
      piece.add('process.signal', at);
    },
    dd: (piece, { args, at }) => {
      const value = (key: string) => args.find((arg) => arg.startsWith(`${key}=`))?.slice(key.length + 1);
      const input = value('if');
      const output = value('of');
      if (input !== undefined) touchPath(piece, 'read', input, at);
      if (output !== undefined) touchPath(piece, 'write', output, at);
    },
    find: findFiles,
    fd: searchFiles,
    fdfind: searchFiles,
    crontab: (piece, { args, at }) => {
      piece.add(args.length === 1 && args[0] === '-l' ? 'system.information' : 'files.persistence', at);
    },
    curl: (piece, { args, at }) => {
      piece.fact('network');
      piece.add('network.use', at);
      const output = optionValue(args, ['-o', '--output']);
      if (output !== undefined && output !== '-') touchPath(piece, 'write', output, at);
    },
    wget: (piece, { args, at }) => {
      piece.fact('network');
      piece.add('network.use', at);
      const output = optionValue(args, ['-O', '--output-document']);
      if (output !== undefined && output !== '-') touchPath(piece, 'write', output, at);
    },
    sed: runSed,
    sort: (piece, { args, paths, at }) => {
      const output = optionValue(args, ['-o', '--output']);
      if (output !== undefined) touchPath(piece, 'write', output, at);
      readPaths(
        piece,
        paths.filter((path) => path !== output),
        at,
      );
    },
    eval: (_piece, { args, again }) => again(['sh', '-c', withoutDashes(args).join(' ')]),
    trap: (_piece, { args, again }) => {
      const [code = '-', ...signals] = withoutDashes(args);
      const isCode = args[0] === '--' || !code.startsWith('-');
      if (signals.length > 0 && isCode && code !== '-' && code !== '') again(['sh', '-c', code]);
    },
    alias: (_piece, { args, again }) => {
      for (const arg of args) if (arg.includes('=')) again(['sh', '-c', arg.slice(arg.indexOf('=') + 1)]);
    },
    source: (piece, { at }) => piece.add('cannot-tell.unseen-script', at),
    '.': (piece, { at }) => piece.add('cannot-tell.unseen-script', at),
    git: (piece, { args, at }) => {
      const [verb = ''] = args.filter((arg) => !arg.startsWith('-'));
      if (['clone', 'fetch', 'pull', 'push', 'submodule', 'remote', 'ls-remote'].includes(verb)) {
        piece.fact('network');
        piece.add('network.use', at);
      } else if (args.length === 1 && (verb === 'version' || args[0] === '--version')) return;
      // Also to look at a repository is to run what its configuration names: core.fsmonitor, diff.external, a pager.
      else piece.add('process.start', at);
    },
    // As words of `builtin` or `command`; by themselves they are of the grammar.
    export: declare,
    declare,
    typeset: declare,
    local: declare,
    readonly: declare,
    unset: declare,
    awk: runAwk,
    gawk: runAwk,
    mawk: runAwk,
    nawk: runAwk,
    hash: (piece, { args, at }) => {
      // From then on the name stands for that file.
      if (args.some((arg) => /^-\w*p/.test(arg))) piece.add('name.environment', at);
    },
    enable: (piece, { args, at }) => {
      if (args.some((arg) => /^-\w*f/.test(arg))) piece.add('code.native', at);
    },
    mapfile: runCallback,
    readarray: runCallback,
    sqlite3: (piece, { args, paths, at, stdin, again }) => {
      const [database, ...statements] = paths;
      if (database !== undefined && database !== ':memory:') touchPath(piece, 'write', database, at);
      for (const text of [...statements, ...args, stdin?.kind === 'text' ? stdin.text : '']) {
        if (text.includes('load_extension') || text.includes('.load')) piece.add('code.native', at);
        for (const [, command = ''] of text.matchAll(/^\s*\.(?:shell|system)\s+(.*)$/gm))
          again(['sh', '-c', command]);
      }
    },
  } satisfies Record<string, Special>,
);

/** What stands behind the mark that ends the options. */
function withoutDashes(args: readonly string[]): readonly string[] {
  return args[0] === '--' ? args.slice(1) : args;
}

function declare(piece: Piece, { paths, at }: Given): void {
  for (const path of paths) {
    if (path.includes('=')) assessSetting(piece, path, at);
    else assessUnsetting(piece, path, at);
  }
}

function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  for (const [index, arg] of args.entries()) {
    for (const name of names) {
      if (arg === name) return args[index + 1];
      const long = longValue(arg, name);
      if (long !== undefined) return long === '' ? args[index + 1] : long;
    }
    // -qO- and -sSo file: the last letter of a bundle takes the value.
    const [, bundle = '', glued = ''] = /^-([a-zA-Z]*?[oO])(.*)$/.exec(arg) ?? [];
    if (bundle !== '' && names.includes(`-${bundle.at(-1) ?? ''}`))
      return glued === '' ? args[index + 1] : glued;
  }
  return undefined;
}

function changePermissions(
  piece: Piece,
  { setsId, paths, at }: { setsId: boolean; paths: readonly string[]; at: Spot },
): void {
  if (setsId) piece.add('files.set-user-id', at);
  for (const path of paths) {
    if (isVital(path)) piece.add('files.destroy', at);
    else if (['own', 'unknown', 'harmless-device'].includes(placeOf(path)))
      piece.add('files.permissions', at);
    else touchPath(piece, 'write', path, at);
  }
}

/** `mapfile -C callback` runs it for every so many lines. */
function runCallback(_piece: Piece, { args, again }: Given): void {
  for (const [index, arg] of args.entries()) {
    const [, glued] = /^-\w*C([^]*)$/.exec(arg) ?? [];
    if (glued !== undefined) again(['sh', '-c', glued === '' ? (args[index + 1] ?? hole) : glued]);
  }
}
