import { SecboxError } from '@secbox/contracts';

/** The names under which an administrator finds what to mend. */
export type PathSetting =
  | 'SECBOX_RUNTIME_MODE'
  | 'sandbox.workspace_root_win'
  | 'sandbox.workspace_root_wsl'
  | 'sandbox.workspace_root';

/** Says which setting to mend and how, without repeating a host path. */
export function settingError(setting: PathSetting, why: string, cause?: unknown): SecboxError {
  return new SecboxError('invalid_setting', `${setting}: ${why}`, { details: { setting }, cause });
}
