import { dirname } from 'node:path';
import { defaultTenant, isExecId, parseTenantId, type ExecId, type TenantId } from '@secbox/contracts';
import { ContentHashes } from './content-hashes.js';
import { ContentStore } from './content-store.js';
import { Directory, isErrno, type Owner, within } from './directory.js';
import { LayeredPlaces, product } from './layered-places.js';
import { mountSource, type WorkspaceMounts } from './mounts.js';
import { isAsMade, makeRoot } from './made-folders.js';
import type { AdaptedPath, PathAdapter } from './path-adapter/path-adapter.js';
import type {
  ExecPlace,
  ProjectArea,
  ProjectPlace,
  ExecFolders,
  SelfTestFolders,
  SelfTestName,
} from './places.js';
import { ProjectInputs } from './project-inputs.js';
import { SharedLock } from './shared-lock.js';
import type { SlotId } from './slot-id.js';
import { Trash, type TrashEntry } from './trash.js';

export interface WorkspaceOptions {
  /** Knows the folder that holds `projects/`, which is made when it is not there. */
  readonly paths: PathAdapter;
  /** Who gets the folders that programs may write; left out when this process runs as that user itself. */
  readonly owner?: Owner;
}

const ours = 0o755;
const secret = 0o700;
const theirs = 0o755;
const slots = 'slots';
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
    await makeRoot(workspace.root, secret);
    within(Directory.open(workspace.root), (root) => {
      root.ensureDirectory('spool', secret).close();
      root.ensureDirectory('projects', ours).close();
      root.ensureDirectory(removed, secret).close();
    });
    return workspace;
  }

  /** Makes what is missing of the project's folders, and the exec's own. */
  prepare(place: ExecPlace, folders = this.foldersOf(place)): ExecFolders {
    const published = dirname(folders.artifacts);
    // Nearly always they are, and then to look is all there is to do.
    const inOrder =
      isAsMade(folders.inputs, ours) &&
      isAsMade(folders.work, theirs, this.#owner) &&
      isAsMade(published, ours);
    if (!inOrder) this.#prepareProject(place);
    within(Directory.open(published), (artifacts) =>
      artifacts.makeDirectory(place.execId, theirs, this.#owner).close(),
    );
    this.openSpool(place.execId).close();
    return folders;
  }

  #prepareProject({ tenant, projectId }: ProjectPlace): void {
    within(this.#openTenant(tenant), (root) => {
      root.ensureDirectory('contents', ours).close();
      within(root.ensureDirectory('projects', ours), (projects) =>
        within(projects.ensureDirectory(projectId, ours), (project) => {
          project.ensureDirectory('inputs', ours).close();
          project.ensureDirectory('work', theirs, this.#owner).close();
          project.ensureDirectory('artifacts', ours).close();
        }),
      );
    });
  }

  foldersOf({ tenant, projectId, execId, readOnlyWork }: ExecPlace): ExecFolders {
    const at = (...components: string[]) => this.#below(tenant, 'projects', projectId, ...components);
    const [inputs, work, artifacts] = [at('inputs'), at('work'), at('artifacts', execId)];
    return {
      mounts: {
        inputs: mountSource(inputs),
        work: mountSource(work),
        artifacts: mountSource(artifacts),
        ...(readOnlyWork === true ? { readOnlyWork } : {}),
      },
      inputs: inputs.hostPathNative,
      work: work.hostPathNative,
      artifacts: artifacts.hostPathNative,
      disk: this.#below(tenant, 'disks', projectId).hostPathNative,
      spool: this.spoolOf(execId),
    };
  }

  /** Where a tenant's execs over layered skills and in general sandboxes are at work. */
  layered(tenant: TenantId): LayeredPlaces {
    return new LayeredPlaces((...components) => this.#below(tenant, ...components));
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

  /** Where what an exec leaves behind lies. */
  artifactsFolder({ tenant, projectId, execId }: ExecPlace): string {
    return this.#below(tenant, 'projects', projectId, 'artifacts', execId).hostPathNative;
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

  /** One of the folders of a project; undefined when there is none. Inputs that were removed by themselves are made again. */
  areaOf({ tenant, projectId }: ProjectPlace, area: ProjectArea): string | undefined {
    try {
      within(Directory.open(this.#below(tenant, 'projects', projectId).hostPathNative), (project) =>
        (area === 'inputs' ? project.ensureDirectory(area, ours) : project.openDirectory(area)).close(),
      );
      return this.#below(tenant, 'projects', projectId, area).hostPathNative;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  /** The folder of a tenant's skills as files and of its general sandboxes, which is made when it is not there. */
  productOf(tenant: TenantId): string {
    within(this.#openTenant(tenant), (root) => root.ensureDirectory(product, ours).close());
    return this.#below(tenant, product).hostPathNative;
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
  discardArtifacts(place: ExecPlace): TrashEntry | undefined {
    return this.trash.take(this.artifactsOf(place), place.execId);
  }

  /** Puts what an invocation brought along into the trash; undefined when there is none. */
  discardInvocation({ tenant, projectId, execId }: ExecPlace): TrashEntry | undefined {
    return this.trash.take(this.#below(tenant, 'projects', projectId, 'inputs').hostPathNative, execId);
  }

  /** The invocations of which something is in the project's inputs, by the names of their folders. */
  async invocationsIn({ tenant, projectId }: ProjectPlace): Promise<ExecId[]> {
    const { hostPathNative } = this.#below(tenant, 'projects', projectId, 'inputs');
    return within(Directory.open(hostPathNative), async (inputs) => {
      const found: ExecId[] = [];
      for await (const name of inputs.names()) {
        const text = name.toString('latin1');
        if (isExecId(text)) found.push(text);
      }
      return found;
    });
  }

  /** Puts a project's work and inputs into the trash; what its execs left behind stays. Its disk must not be mounted. */
  discardWork(place: ProjectPlace): TrashEntry[] {
    const project = this.#below(place.tenant, 'projects', place.projectId).hostPathNative;
    const disks = this.#below(place.tenant, 'disks').hostPathNative;
    const taken: TrashEntry[] = [];
    for (const [folder, name] of [
      [project, 'work'],
      [project, 'inputs'],
      [disks, place.projectId],
    ] as const) {
      const entry = this.trash.take(folder, name);
      if (entry) taken.push(entry);
    }
    return taken;
  }

  discardInputs({ tenant, projectId }: ProjectPlace): TrashEntry | undefined {
    return this.trash.take(this.#below(tenant, 'projects', projectId).hostPathNative, 'inputs');
  }

  /** Puts all of a project into the trash; its disk must not be mounted. */
  discardProject({ tenant, projectId }: ProjectPlace): TrashEntry[] {
    const folders = ['projects', 'disks'].map((name) => this.#below(tenant, name).hostPathNative);
    const taken: TrashEntry[] = [];
    for (const folder of folders) {
      const entry = this.trash.take(folder, projectId);
      if (entry) taken.push(entry);
    }
    return taken;
  }

  spoolOf(execId: ExecId): string {
    return this.#paths.below(['spool', execId]).hostPathNative;
  }

  /** The folder of what waits of an exec, which is made when it is not there. */
  openSpool(execId: ExecId): Directory {
    return within(this.#openSpools(), (spools) => spools.makeDirectory(execId, secret));
  }

  /** Every exec of which something waits on disk, by the name of its folder. */
  async spooled(): Promise<string[]> {
    return within(this.#openSpools(), async (spools) => {
      const names: string[] = [];
      for await (const name of spools.names()) names.push(name.toString('utf8'));
      return names;
    });
  }

  /** Where the slots of waiting containers lie. */
  get slotsRoot(): string {
    return this.#paths.below([slots]).hostPathNative;
  }

  /** Where a disk is made for the next new project. */
  get spareDisk(): string {
    return this.#paths.below(['spare-disk']).hostPathNative;
  }

  /** The folders of a slot, as a container is started with them; whatever fills them appears in it. */
  slotMounts(slot: SlotId): WorkspaceMounts {
    const at = (name: string) => mountSource(this.#paths.below([slots, slot, name]));
    return { inputs: at('inputs'), work: at('work'), artifacts: at('artifacts') };
  }

  /** Folders of no project, in which it is tried at start what a container sees of a mount. */
  prepareSelfTest(name: SelfTestName = 'self-test'): SelfTestFolders {
    within(this.#openRoot(), (root) =>
      within(root.ensureDirectory(name, ours), (folder) => {
        folder.ensureDirectory('inputs', ours).close();
        folder.ensureDirectory('work', theirs, this.#owner).close();
        folder.ensureDirectory('artifacts', theirs, this.#owner).close();
      }),
    );
    const at = (folder: string) => this.#paths.below([name, folder]);
    return {
      mounts: {
        inputs: mountSource(at('inputs')),
        work: mountSource(at('work')),
        artifacts: mountSource(at('artifacts')),
      },
      inputs: at('inputs').hostPathNative,
      work: at('work').hostPathNative,
      disk: at('disk').hostPathNative,
    };
  }

  async removeSelfTest(name: SelfTestName = 'self-test'): Promise<void> {
    await within(this.#openRoot(), (root) => root.remove(name));
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
      const file = folder.createFile(name, 0o600);
      try {
        await file.append(Buffer.from(document));
        if (durable) await file.sync();
      } finally {
        file.close();
      }
    });
  }

  /** Undefined when there is no such document. */
  async readSpooled(execId: ExecId, name: string): Promise<Buffer | undefined> {
    try {
      return await within(Directory.open(this.spoolOf(execId)), async (folder) => {
        const file = folder.openFile(name);
        try {
          return await file.readAll();
        } finally {
          file.close();
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

  #openRoot(): Directory {
    return Directory.open(this.root);
  }

  #openSpools(): Directory {
    return Directory.open(this.#paths.below(['spool']).hostPathNative);
  }

  /** Makes the tenant's root when it is not there. */
  #openTenant(tenant: TenantId): Directory {
    if (tenant === defaultTenant) return Directory.open(this.root);
    return within(Directory.open(this.root), (root) =>
      within(root.ensureDirectory('tenants', ours), (tenants) => tenants.ensureDirectory(tenant, ours)),
    );
  }

  #below(tenant: TenantId, ...components: string[]): AdaptedPath {
    return this.#paths.below([...(tenant === defaultTenant ? [] : ['tenants', tenant]), ...components]);
  }
}
