/** How a configured path is written, before anything is known about whether it exists. */
export type PathKind =
  | 'empty'
  | 'device'
  | 'wsl_share'
  | 'unc'
  | 'drive'
  | 'drive_relative'
  | 'rooted'
  | 'drive_mount'
  | 'posix'
  | 'relative';

const kinds: readonly (readonly [PathKind, RegExp])[] = [
  ['empty', /^\s*$/],
  ['device', /^[\\/]{2}[?.][\\/]/],
  ['wsl_share', /^[\\/]{2}wsl(?:\$|\.localhost)(?:[\\/]|$)/i],
  ['unc', /^[\\/]{2}/],
  ['drive', /^[A-Za-z]:[\\/]/],
  ['drive_relative', /^[A-Za-z]:/],
  ['rooted', /^\\/],
  // WSL mounts drives in lower case; /mnt/D is a folder of the distribution.
  ['drive_mount', /^\/mnt\/[a-z](?:\/|$)/],
  ['posix', /^\//],
];

export function kindOfPath(path: string): PathKind {
  return kinds.find(([, pattern]) => pattern.test(path))?.[0] ?? 'relative';
}
