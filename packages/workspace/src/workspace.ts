import { mkdir } from 'node:fs/promises';
import {
  defaultTenant,
  parseTenantId,
  SecboxError,
  type ExecId,
  type ProjectId,
  type TenantId,
} from '@secbox/contracts';
import { ContentHashes } from './content-hashes.js';
import { ContentStore } from './content-store.js';
import { Directory, isErrno, type Owner, within } from './directory.js';
import type { MountSource, WorkspaceMounts } from './mounts.js';
import type { AdaptedPath, PathAdapter } from './path-adapter/path-adapter.js';
import { ProjectInputs } from './project-inputs.js';
import { SharedLock } from './shared-lock.js';
import { Trash, type TrashEntry } from './trash.js';

export interface WorkspaceOptions {
  /** Knows the folder that holds `projects/`, which is made when it is not there. */
  readonly paths: PathAdapter;
  /** Who gets the folders that programs may write; left out when this process runs as that user itself. */
  readonly owner?: Owner;
}

/** Whose exec it is. */
export interface ExecPlace {
  readonly tenant: TenantId;
  readonly projectId: ProjectId;
  readonly execId: ExecId;
}

export type ProjectPlace = Pick<ExecPlace, 'tenant' | 'projectId'>;

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
const removed = 'removed';

/**
 * The folder tree of projects and execs. Every path below its root is built here, from ids that their
 * parser made, and every folder is opened without following links before its path is handed out.
 */
export class Workspace {
  readonly #paths: PathAdapter;
  readonly #owner: Owner | undefined;
  readonly #hashes = new ContentHashes();
  readonly #contentsLock = new SharedLock();
  /** What was taken out of its place. */
  readonly trash: Trash;

  private constructor({ paths, owner }: WorkspaceOptions) {
    this.#paths = paths;
    this.#owner = owner;
    this.trash = new Trash(paths.below([removed]).hostPathNative);
  }

  get root(): string {
    return this.#paths.root.hostPathNative;
  }

  static async open(options: WorkspaceOptions): Promise<Workspace> {
    const workspace = new Workspace(options);
    await makeRoot(workspace.root);
    await within(Directory.open(workspace.root), async (root) => {
      await within(root.ensureDirectory('spool', secret), closeAtOnce);
      await within(root.ensureDirectory('projects', ours), closeAtOnce);
      await within(root.ensureDirectory(removed, secret), closeAtOnce);
    });
    return workspace;
  }

  /** Makes what is missing of the project's folders, and the exec's own. */
  async prepare(place: ExecPlace): Promise<ExecFolders> {
    const folders = this.foldersOf(place);
    await within(this.#openTenant(place.tenant), async (tenant) => {
      await within(tenant.ensureDirectory('contents', ours), closeAtOnce);
      await within(tenant.ensureDirectory('projects', ours), (projects) =>
        within(projects.ensureDirectory(place.projectId, ours), async (project) => {
          await within(project.ensureDirectory('inputs', ours), closeAtOnce);
          await within(project.ensureDirectory('work', theirs, this.#owner), closeAtOnce);
          await within(project.ensureDirectory('artifacts', ours), (artifacts) =>
            within(artifacts.ensureDirectory(place.execId, theirs, this.#owner), closeAtOnce),
          );
        }),
      );
    });
    await within(this.openSpool(place.execId), closeAtOnce);
    return folders;
  }

  foldersOf({ tenant, projectId, execId }: ExecPlace): ExecFolders {
    const at = (...components: string[]) => this.#below(tenant, 'projects', projectId, ...components);
    const [inputs, artifacts] = [at('inputs'), at('artifacts', execId)];
    return {
      mounts: {
        inputs: mountSource(inputs),
        work: mountSource(at('work')),
        artifacts: mountSource(artifacts),
      },
      inputs: inputs.hostPathNative,
      work: at('work').hostPathNative,
      artifacts: artifacts.hostPathNative,
      disk: this.#below(tenant, 'disks', projectId).hostPathNative,
      spool: this.spoolOf(execId),
    };
  }

  /** The input files of a project whose folders are there. */
  inputsOf({ tenant, projectId }: ProjectPlace): ProjectInputs {
    return new ProjectInputs({
      folder: this.#below(tenant, 'projects', projectId, 'inputs').hostPathNative,
      contents: this.contentsOf(tenant),
      hashes: this.#hashes,
    });
  }

  /** What the inputs of a tenant's execs held, also those that were replaced since. */
  contentsOf(tenant: TenantId): ContentStore {
    return new ContentStore(this.#below(tenant, 'contents').hostPathNative, this.#contentsLock);
  }

  /** Where the artifacts of a project's execs lie, each in a folder by its id. */
  artifactsOf({ tenant, projectId }: ProjectPlace): string {
    return this.#below(tenant, 'projects', projectId, 'artifacts').hostPathNative;
  }

  /** Where a project's work is mounted, and where its disk lies. */
  diskOf({ tenant, projectId }: ProjectPlace): Pick<ExecFolders, 'work' | 'disk'> {
    return {
      work: this.#below(tenant, 'projects', projectId, 'work').hostPathNative,
      disk: this.#below(tenant, 'disks', projectId).hostPathNative,
    };
  }

  /** Every tenant that has a folder. */
  async tenants(): Promise<TenantId[]> {
    const tenants = [defaultTenant];
    try {
      await within(Directory.open(this.#paths.below(['tenants']).hostPathNative), async (folder) => {
        for await (const name of folder.names()) tenants.push(parseTenantId(name.toString('utf8')));
      });
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
    return tenants;
  }

  /** Whether there is anything in the project's inputs. */
  async hasInputs({ tenant, projectId }: ProjectPlace): Promise<boolean> {
    const { hostPathNative } = this.#below(tenant, 'projects', projectId, 'inputs');
    try {
      return await within(Directory.open(hostPathNative), async (inputs) => {
        for await (const _ of inputs.names()) return true;
        return false;
      });
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false;
      throw error;
    }
  }

  /** Puts an exec's files into the trash; undefined when there are none. */
  discardArtifacts(place: ExecPlace): Promise<TrashEntry | undefined> {
    return this.trash.take(this.artifactsOf(place), place.execId);
  }

  discardInputs({ tenant, projectId }: ProjectPlace): Promise<TrashEntry | undefined> {
    return this.trash.take(this.#below(tenant, 'projects', projectId).hostPathNative, 'inputs');
  }

  /** Puts all of a project into the trash; its disk must not be mounted. */
  async discardProject({ tenant, projectId }: ProjectPlace): Promise<TrashEntry[]> {
    const folders = ['projects', 'disks'].map((name) => this.#below(tenant, name).hostPathNative);
    const taken: TrashEntry[] = [];
    for (const folder of folders) {
      const entry = await this.trash.take(folder, projectId);
      if (entry) taken.push(entry);
    }
    return taken;
  }

  spoolOf(execId: ExecId): string {
    return this.#paths.below(['spool', execId]).hostPathNative;
  }

  /** The folder of what waits of an exec, which is made when it is not there. */
  openSpool(execId: ExecId): Promise<Directory> {
    return within(this.#openSpools(), (spools) => spools.ensureDirectory(execId, secret));
  }

  /** Every exec of which something waits on disk, by the name of its folder. */
  async spooled(): Promise<string[]> {
    return within(this.#openSpools(), async (spools) => {
      const names: string[] = [];
      for await (const name of spools.names()) names.push(name.toString('utf8'));
      return names;
    });
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
  async writeSpooled(
    execId: ExecId,
    name: string,
    document: string | Buffer,
    { durable }: { readonly durable: boolean },
  ): Promise<void> {
    await within(this.openSpool(execId), async (folder) => {
      // One that was cut off when there was no room.
      await folder.remove(name);
      const file = await folder.createFile(name, 0o600);
      try {
        await file.writeFile(document);
        if (durable) await file.sync();
      } finally {
        await file.close();
      }
    });
  }

  /** Undefined when there is no such document. */
  async readSpooled(execId: ExecId, name: string): Promise<Buffer | undefined> {
    try {
      return await within(Directory.open(this.spoolOf(execId)), async (folder) => {
        const file = await folder.openFile(name);
        try {
          return await file.readFile();
        } finally {
          await file.close();
        }
      });
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async removeSpool(execId: string): Promise<void> {
    await within(this.#openSpools(), (spools) => spools.remove(execId));
  }

  #openRoot(): Promise<Directory> {
    return Directory.open(this.root);
  }

  #openSpools(): Promise<Directory> {
    return Directory.open(this.#paths.below(['spool']).hostPathNative);
  }

  /** Makes the tenant's root when it is not there. */
  async #openTenant(tenant: TenantId): Promise<Directory> {
    if (tenant === defaultTenant) return Directory.open(this.root);
    return within(Directory.open(this.root), (root) =>
      within(root.ensureDirectory('tenants', ours), (tenants) => tenants.ensureDirectory(tenant, ours)),
    );
  }

  #below(tenant: TenantId, ...components: string[]): AdaptedPath {
    return this.#paths.below([...(tenant === defaultTenant ? [] : ['tenants', tenant]), ...components]);
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
