import { mkdir } from 'node:fs/promises';
import { SecboxError, type ExecId, type ProjectId } from '@secbox/contracts';
import { Directory, isErrno, type Owner, within } from './directory.js';
import type { MountSource, WorkspaceMounts } from './mounts.js';
import type { AdaptedPath, PathAdapter } from './path-adapter/path-adapter.js';

export interface WorkspaceOptions {
  /** Knows the folder that holds `projects/`, which is made when it is not there. */
  readonly paths: PathAdapter;
  /** Who gets the folders that programs may write; left out when this process runs as that user itself. */
  readonly owner?: Owner;
}

/** Where one exec's files are on this host. */
export interface ExecFolders {
  readonly mounts: WorkspaceMounts;
  readonly inputs: string;
  readonly work: string;
  readonly artifacts: string;
  /** Where the image lies that is mounted as the project's work, on systems that can. */
  readonly disk: string;
  /** Outside every mount: what the exec prints goes here until nothing of it can write any more. */
  readonly spool: string;
}

export type SelfTestFolders = Pick<ExecFolders, 'mounts' | 'work' | 'disk'>;

const ours = 0o755;
const secret = 0o700;
const theirs = 0o755;
const selfTest = 'self-test';

/**
 * The folder tree of projects and execs. Every path below its root is built here, from ids that their
 * parser made, and every folder is opened without following links before its path is handed out.
 */
export class Workspace {
  readonly #paths: PathAdapter;
  readonly #owner: Owner | undefined;

  private constructor({ paths, owner }: WorkspaceOptions) {
    this.#paths = paths;
    this.#owner = owner;
  }

  get root(): string {
    return this.#paths.root.hostPathNative;
  }

  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const workspace = new Workspace(options);
    await makeRoot(workspace.root);
    await within(Directory.open(workspace.root), async (root) => {
      await within(root.ensureDirectory('projects', ours), closeAtOnce);
      await within(root.ensureDirectory('spool', secret), closeAtOnce);
    });
    return workspace;
  }

  /** Makes what is missing of the project's folders, and the exec's own. */
  async prepare(projectId: ProjectId, execId: ExecId): Promise<ExecFolders> {
    const folders = this.foldersOf(projectId, execId);
    await within(this.#open('projects'), (projects) =>
      within(projects.ensureDirectory(projectId, ours), async (project) => {
        await within(project.ensureDirectory('inputs', ours), closeAtOnce);
        await within(project.ensureDirectory('work', theirs, this.#owner), closeAtOnce);
        await within(project.ensureDirectory('artifacts', ours), (artifacts) =>
          within(artifacts.ensureDirectory(execId, theirs, this.#owner), closeAtOnce),
        );
      }),
    );
    await within(this.#open('spool'), (spool) => within(spool.ensureDirectory(execId, secret), closeAtOnce));
    return folders;
  }

  foldersOf(projectId: ProjectId, execId: ExecId): ExecFolders {
    const inputs = this.#paths.below(['projects', projectId, 'inputs']);
    const work = this.#paths.below(['projects', projectId, 'work']);
    const artifacts = this.#paths.below(['projects', projectId, 'artifacts', execId]);
    return {
      mounts: { inputs: mountSource(inputs), work: mountSource(work), artifacts: mountSource(artifacts) },
      inputs: inputs.hostPathNative,
      work: work.hostPathNative,
      artifacts: artifacts.hostPathNative,
      disk: this.#paths.below(['disks', projectId]).hostPathNative,
      spool: this.#paths.below(['spool', execId]).hostPathNative,
    };
  }

  /** Folders of no project, in which it is tried at start what a container sees of a mount. */
  async prepareSelfTest(): Promise<SelfTestFolders> {
    await within(this.#openRoot(), (root) =>
      within(root.ensureDirectory(selfTest, ours), async (folder) => {
        await within(folder.ensureDirectory('inputs', ours), closeAtOnce);
        await within(folder.ensureDirectory('work', theirs, this.#owner), closeAtOnce);
        await within(folder.ensureDirectory('artifacts', theirs, this.#owner), closeAtOnce);
      }),
    );
    const at = (name: string) => this.#paths.below([selfTest, name]);
    return {
      mounts: {
        inputs: mountSource(at('inputs')),
        work: mountSource(at('work')),
        artifacts: mountSource(at('artifacts')),
      },
      work: at('work').hostPathNative,
      disk: at('disk').hostPathNative,
    };
  }

  async removeSelfTest(): Promise<void> {
    await within(this.#openRoot(), (root) => root.remove(selfTest));
  }

  /** Keeps a document of ours with what waits of an exec. */
  async writeSpooled(execId: ExecId, name: string, text: string): Promise<void> {
    await within(this.#open('spool'), (spool) =>
      within(spool.ensureDirectory(execId, secret), async (folder) => {
        // One that was cut off when there was no room.
        await folder.remove(name);
        const file = await folder.createFile(name, 0o600);
        try {
          await file.writeFile(text);
          await file.sync();
        } finally {
          await file.close();
        }
      }),
    );
  }

  /** Undefined when there is no such document. */
  async readSpooled(execId: ExecId, name: string): Promise<string | undefined> {
    try {
      return await within(
        Directory.open(this.#paths.below(['spool', execId]).hostPathNative),
        async (folder) => {
          const file = await folder.openFile(name);
          try {
            return await file.readFile('utf8');
          } finally {
            await file.close();
          }
        },
      );
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async removeSpool(execId: ExecId): Promise<void> {
    await within(this.#open('spool'), (spool) => spool.remove(execId));
  }

  #openRoot(): Promise<Directory> {
    return Directory.open(this.root);
  }

  #open(name: 'projects' | 'spool'): Promise<Directory> {
    return Directory.open(this.#paths.below([name]).hostPathNative);
  }
}

/** Only the last folder is made: a root whose parent is missing is more likely a mistake than a wish. */
async function makeRoot(root: string): Promise<void> {
  try {
    await mkdir(root, { mode: secret });
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return;
    const why = error instanceof Error ? error.message : String(error);
    throw new SecboxError('invalid_setting', `The workspace root ${root} cannot be made: ${why}.`, {
      details: { setting: 'sandbox.workspace_root' },
      cause: error,
    });
  }
}

function mountSource(path: AdaptedPath): MountSource {
  return path.dockerMountPath as MountSource;
}

function closeAtOnce(): Promise<void> {
  return Promise.resolve();
}
