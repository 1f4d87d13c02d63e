import { componentProblem } from './component.js';
import { kindOfPath } from './path-kind.js';
import type { RuntimeMode } from './runtime-mode.js';
import { settingError, type PathSetting } from './setting-error.js';

/** A workspace root as Windows writes it: upper-case drive, backslashes, nothing to normalise left. */
export function parseWindowsRoot(path: string, setting: PathSetting): string {
  const refuse = (what: string) =>
    settingError(setting, `must be a folder on a drive, such as D:\\secbox\\workspace, but ${what}.`);
  const kind = kindOfPath(path);
  switch (kind) {
    case 'drive': {
      const [drive = '', ...components] = path.split(/[\\/]+/).filter((part) => part !== '');
      assertRootComponents(components, 'windows', setting);
      return `${drive.toUpperCase()}\\${components.join('\\')}`;
    }
    case 'empty':
      throw refuse('it is empty');
    case 'device':
      throw refuse('it is a device path (\\\\?\\ or \\\\.\\)');
    case 'wsl_share':
      throw refuse(
        'it lies inside a WSL distribution; run there and set sandbox.workspace_root_wsl, or choose a drive',
      );
    case 'unc':
      throw refuse('it is a network share, which the engine cannot mount');
    case 'drive_relative':
      throw refuse('it lacks the backslash after the colon, so it depends on the current folder');
    case 'rooted':
    case 'posix':
      throw refuse('it names no drive');
    case 'drive_mount':
      throw refuse('it is written as WSL does (/mnt/…); that belongs in sandbox.workspace_root_wsl');
    case 'relative':
      throw refuse('it is relative');
  }
}

/** A workspace root as POSIX systems write it, without doubled or trailing slashes. */
export function parsePosixRoot(path: string, setting: PathSetting, mode: 'wsl' | 'linux'): string {
  const refuse = (what: string) =>
    settingError(setting, `must be an absolute path, such as /srv/secbox/workspace, but ${what}.`);
  const kind = kindOfPath(path);
  switch (kind) {
    case 'posix':
    case 'drive_mount': {
      const components = path.split(/\/+/).filter((part) => part !== '');
      if (components.length === 0) throw refuse('it is the root of the whole system');
      assertRootComponents(components, mode, setting);
      return `/${components.join('/')}`;
    }
    case 'empty':
      throw refuse('it is empty');
    case 'drive':
    case 'drive_relative':
      throw refuse('it is written as Windows does; D:\\x is /mnt/d/x in WSL');
    case 'device':
    case 'wsl_share':
    case 'unc':
    case 'rooted':
      throw refuse('it is a Windows path or begins with two slashes');
    case 'relative':
      throw refuse('it is relative');
  }
}

function assertRootComponents(components: readonly string[], mode: RuntimeMode, setting: PathSetting): void {
  for (const component of components) {
    const problem = componentProblem(component, mode);
    if (problem !== undefined) throw settingError(setting, `a folder name in it ${problem}.`);
  }
}
