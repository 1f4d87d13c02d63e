import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecId, ProjectId } from '@secbox/contracts';
import { Directory, type Owner, within } from './directory.js';
import type { MountSource, WorkspaceMounts } from './mounts.js';

export interface WorkspaceOptions {
  /** The folder that holds `projects/`; made when it is not there. */
  readonly root: string;
  /** Who gets the folders that programs may write; left out when this process runs as that user itself. */
  readonly owner?: Owner;
}

/** Where one exec's files are on this host. */
export interface ExecFolders {
  readonly mounts: WorkspaceMounts;
  readonly inputs: string;
  readonly artifacts: string;
  /** Outside every mount: what the exec prints goes here until nothing of it can write any more. */
  readonly spool: string;
}

const ours = 0o755;
const secret = 0o700;
const theirs = 0o755;

/**
 * The folder tree of projects and execs. Every path below its root is built here, from ids that their
 * parser made, and every folder is opened without following links before its path is handed out.
 */
export class Workspace {
  readonly root: string;
  readonly #owner: Owner | undefined;

  private constructor(root: string, owner: Owner | undefined) {
    this.root = root;
    this.#owner = owner;
  }

  static async open(options: WorkspaceOptions): Promise<Workspace> {
    await mkdir(options.root, { recursive: true, mode: secret });
    const workspace = new Workspace(await realpath(options.root), options.owner);
    await within(Directory.open(workspace.root), async (root) => {
      await within(root.ensureDirectory('projects', ours), closeAtOnce);
      await within(root.ensureDirectory('spool', secret), closeAtOnce);
    });
    return workspace;
  }

  /** Makes what is missing of the project's folders, and the exec's own. */
  async prepare(projectId: ProjectId, execId: ExecId): Promise<ExecFolders> {
    await within(Directory.open(join(this.root, 'projects')), (projects) =>
      within(projects.ensureDirectory(projectId, ours), async (project) => {
        await within(project.ensureDirectory('inputs', ours), closeAtOnce);
        await within(project.ensureDirectory('work', theirs, this.#owner), closeAtOnce);
        await within(project.ensureDirectory('artifacts', ours), (artifacts) =>
          within(artifacts.ensureDirectory(execId, theirs, this.#owner), closeAtOnce),
        );
      }),
    );
    await within(Directory.open(join(this.root, 'spool')), (spool) =>
      within(spool.ensureDirectory(execId, secret), closeAtOnce),
    );
    return this.foldersOf(projectId, execId);
  }

  foldersOf(projectId: ProjectId, execId: ExecId): ExecFolders {
    const project = join(this.root, 'projects', projectId);
    const inputs = join(project, 'inputs');
    const artifacts = join(project, 'artifacts', execId);
    return {
      mounts: {
        inputs: inputs as MountSource,
        work: join(project, 'work') as MountSource,
        artifacts: artifacts as MountSource,
      },
      inputs,
      artifacts,
      spool: join(this.root, 'spool', execId),
    };
  }

  async removeSpool(execId: ExecId): Promise<void> {
    await within(Directory.open(join(this.root, 'spool')), (spool) => spool.remove(execId));
  }
}

function closeAtOnce(): Promise<void> {
  return Promise.resolve();
}
