import { parsePosixRoot, parseWindowsRoot } from './parse-root.js';
import { kindOfPath } from './path-kind.js';
import { settingError, type PathSetting } from './setting-error.js';

/**
 * Asks WSL's own `wslpath`, which knows of drives mounted elsewhere than under /mnt. Gives undefined where it
 * is not at hand, and throws where it cannot convert. It is asked about absolute paths only.
 */
export type Wslpath = (path: string, to: 'windows' | 'wsl') => string | undefined;

/** The root for WSL when only the one for Windows is set. */
export function windowsRootToWsl(path: string, wslpath: Wslpath | undefined): string {
  const kind = kindOfPath(path);
  if (kind === 'drive' || kind === 'wsl_share') {
    const converted = ask(wslpath, path, 'wsl', 'sandbox.workspace_root_wsl');
    if (converted !== undefined) return parsePosixRoot(converted, 'sandbox.workspace_root_wsl', 'wsl');
  }
  const [drive = '', ...components] = parseWindowsRoot(path, 'sandbox.workspace_root_win').split('\\');
  return ['/mnt', drive.charAt(0).toLowerCase(), ...components.filter((part) => part !== '')].join('/');
}

/** The root for Windows when only the one for WSL is set. */
export function wslRootToWindows(path: string, wslpath: Wslpath | undefined): string {
  const setting = 'sandbox.workspace_root_win';
  const root = parsePosixRoot(path, 'sandbox.workspace_root_wsl', 'wsl');
  const converted = ask(wslpath, root, 'windows', setting);
  if (converted !== undefined) return parseWindowsRoot(converted, setting);
  if (kindOfPath(root) !== 'drive_mount') {
    throw settingError(
      setting,
      'is not set and cannot be taken from sandbox.workspace_root_wsl, which lies on no drive; set it, for example to D:\\secbox\\workspace.',
    );
  }
  const [, , letter = '', ...components] = root.split('/');
  return `${letter.toUpperCase()}:\\${components.join('\\')}`;
}

function ask(
  wslpath: Wslpath | undefined,
  path: string,
  to: 'windows' | 'wsl',
  setting: PathSetting,
): string | undefined {
  try {
    return wslpath?.(path, to);
  } catch (cause) {
    throw settingError(setting, 'is not set, and wslpath could not convert the other one; set it.', cause);
  }
}
