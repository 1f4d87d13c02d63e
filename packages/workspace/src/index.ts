export {
  collectArtifacts,
  type CollectedFile,
  type Collection,
  type CollectLimits,
  type DroppedEntry,
  type OtherEntry,
} from './collect-artifacts.js';
export { sha256Of } from './content-hashes.js';
export { ContentStore } from './content-store.js';
export {
  Directory,
  isErrno,
  within,
  type EntryName,
  type Owner,
  type RemoveOptions,
  type Tally,
} from './directory.js';
export { type MountSource, type WorkspaceMounts } from './mounts.js';
export { sandboxOwner } from './owner.js';
export {
  createPathAdapter,
  type AdaptedPath,
  type PathAdapter,
  type PathAdapterOptions,
  type WorkspaceRoots,
} from './path-adapter/path-adapter.js';
export {
  detectRuntimeMode,
  resolveRuntimeMode,
  type RuntimeFacts,
  type RuntimeMode,
} from './path-adapter/runtime-mode.js';
export {
  mostInputs,
  ProjectInputs,
  refuseOverlaps,
  type InputFile,
  type VisibleInput,
} from './project-inputs.js';
export { publishResults, reservedNames, setReservedNamesAside, type SetAside } from './publish-results.js';
export { openPublished } from './open-published.js';
export { parseRelativePath, type RelativePath } from './relative-path.js';
export { Trash, type TrashEntry } from './trash.js';
export {
  Workspace,
  type ExecFolders,
  type ExecPlace,
  type ProjectPlace,
  type SelfTestFolders,
  type WorkspaceOptions,
} from './workspace.js';
