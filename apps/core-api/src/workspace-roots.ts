import { join } from 'node:path';
import type { Settings } from '@secbox/contracts';
import type { WorkspaceRoots } from '@secbox/workspace';

/** Where an administrator said nothing, projects lie below the data folder. */
export function workspaceRoots({ sandbox }: Settings, dataDir: string): WorkspaceRoots {
  return {
    workspace_root_win: sandbox?.workspace_root_win,
    workspace_root_wsl: sandbox?.workspace_root_wsl,
    workspace_root: sandbox?.workspace_root ?? join(dataDir, 'workspace'),
  };
}
