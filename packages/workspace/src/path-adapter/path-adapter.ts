import { posix, win32 } from 'node:path';
import { SecboxError } from '@secbox/contracts';
import { assertComponents } from './component.js';
import { windowsRootToWsl, wslRootToWindows, type Wslpath } from './convert-root.js';
import { parsePosixRoot, parseWindowsRoot } from './parse-root.js';
import type { RuntimeMode } from './runtime-mode.js';
import { settingError } from './setting-error.js';

export interface WorkspaceRoots {
  readonly workspace_root_win?: string | undefined;
  readonly workspace_root_wsl?: string | undefined;
  /** In the form of the running system: the only one on Linux, elsewhere for when neither of the two is set. */
  readonly workspace_root?: string | undefined;
}

export interface PathAdapterOptions {
  readonly mode: RuntimeMode;
  readonly roots: WorkspaceRoots;
  readonly wslpath?: Wslpath | undefined;
}

/** One folder, for those who open it and for those who mount it. */
export interface AdaptedPath {
  /** What this process reads and writes. */
  readonly hostPathNative: string;
  /** What the engine is told as the source of a mount. */
  readonly dockerMountPath: string;
}

export interface PathAdapter {
  readonly mode: RuntimeMode;
  readonly root: AdaptedPath;
  /** A path of at least one component below the root; throws `invalid_path` where this system has no such name. */
  below(components: readonly string[]): AdaptedPath;
}

const maxPathBytes = 4096;

/** Decides once where the workspace is; throws `invalid_setting` with the setting to mend. */
export function createPathAdapter({ mode, roots, wslpath }: PathAdapterOptions): PathAdapter {
  const root = nativeRoot(mode, roots, wslpath);
  const system = mode === 'windows' ? win32 : posix;
  return Object.freeze({
    mode,
    root: adapted(root),
    below(components: readonly string[]): AdaptedPath {
      assertComponents(components, mode);
      const path = system.join(root, ...components);
      if (Buffer.byteLength(path) > maxPathBytes) {
        throw new SecboxError('invalid_path', `The whole path has at most ${maxPathBytes} bytes.`);
      }
      return adapted(path);
    },
  });
}

function nativeRoot(mode: RuntimeMode, roots: WorkspaceRoots, wslpath: Wslpath | undefined): string {
  const { workspace_root_win: win, workspace_root_wsl: wsl, workspace_root: plain } = roots;
  switch (mode) {
    case 'windows':
      if (win !== undefined) return parseWindowsRoot(win, 'sandbox.workspace_root_win');
      if (wsl !== undefined) return wslRootToWindows(wsl, wslpath);
      if (plain !== undefined) return parseWindowsRoot(plain, 'sandbox.workspace_root');
      throw settingError(
        'sandbox.workspace_root_win',
        'is not set; set it, for example to D:\\secbox\\workspace.',
      );
    case 'wsl':
      if (wsl !== undefined) return parsePosixRoot(wsl, 'sandbox.workspace_root_wsl', mode);
      if (win !== undefined) return windowsRootToWsl(win, wslpath);
      if (plain !== undefined) return parsePosixRoot(plain, 'sandbox.workspace_root', mode);
      throw settingError(
        'sandbox.workspace_root_wsl',
        'is not set; set it, for example to /mnt/d/secbox/workspace.',
      );
    case 'linux':
      if (plain !== undefined) return parsePosixRoot(plain, 'sandbox.workspace_root', mode);
      throw settingError(
        'sandbox.workspace_root',
        'is not set; set it, for example to /srv/secbox/workspace.',
      );
  }
}

/**
 * The engine takes the native spelling in every mode: Docker Desktop shares `D:\…` with a Windows client and
 * `/mnt/d/…` with one in WSL. The two stay apart because they are answers to different questions.
 */
function adapted(path: string): AdaptedPath {
  return Object.freeze({ hostPathNative: path, dockerMountPath: path });
}
