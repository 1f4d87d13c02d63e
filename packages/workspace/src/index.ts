export { Breath } from './breath.js';
export {
  collectArtifacts,
  type CollectedFile,
  type Collection,
  type CollectLimits,
  type DroppedEntry,
  type OtherEntry,
} from './collect-artifacts.js';
export { ContentHashes, hashFile, sha256Of } from './content-hashes.js';
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
export {
  type LayeredFolders,
  type LayeredPlaces,
  type SandboxFolder,
  type SandboxPlace,
} from './layered-places.js';
export {
  FolderFiles,
  type FileFacts,
  type FilePrecondition,
  type FileWrite,
  type FolderFilesOptions,
  type WrittenFile,
} from './folder-files.js';
export { type ListedFile, type Listing, type ListingPage } from './folder-listing.js';
export { readLines, replaceLines, type ByteSource, type LineRange } from './line-range.js';
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
  type RuntimeModeSetting,
} from './path-adapter/runtime-mode.js';
export { wslpathOf } from './path-adapter/wslpath.js';
export {
  isSecretInput,
  mostInputs,
  ProjectInputs,
  refuseOverlaps,
  type InputFile,
  type VisibleInput,
} from './project-inputs.js';
export {
  finishPublishing,
  publishResults,
  reservedNames,
  setReservedNamesAside,
  type ResultDocuments,
  type SetAside,
} from './publish-results.js';
export { OpenFile, type ByteRange } from './open-file.js';
export { readTree, type Tree, type TreeEntry, type TreeLimits } from './read-tree.js';
export { openPublished } from './open-published.js';
export { parseRelativePath, type RelativePath } from './relative-path.js';
export { searchText, type SearchAnswer, type SearchedFile, type SearchQuery } from './search-text.js';
export { newSlotId, type SlotId } from './slot-id.js';
export { SharedLock } from './shared-lock.js';
export { textOf } from './utf8-text.js';
export { Trash, type TrashEntry } from './trash.js';
export type {
  ExecFolders,
  ExecPlace,
  ProjectArea,
  ProjectPlace,
  SelfTestFolders,
  SelfTestName,
} from './places.js';
export { Workspace, type WorkspaceOptions } from './workspace.js';
