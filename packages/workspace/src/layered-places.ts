import { type AgentId, type ExecId, isLayeredProject, type ProjectId, type UserId } from '@secbox/contracts';
import { Directory, isErrno, within } from './directory.js';
import { mountSource, type MountSource } from './mounts.js';
import type { AdaptedPath } from './path-adapter/path-adapter.js';

/** Of an exec over a layered skill. */
export interface LayeredFolders {
  /** Where what it writes lies, in its project's work: so that the limit of that holds. */
  readonly room: string;
  /** Its view of the skill where the kernel makes it, and where it is a copy. */
  readonly overlay: MountSource;
  readonly copy: MountSource;
}

export interface SandboxPlace {
  readonly userId: UserId;
  readonly agentId: AgentId;
}

export interface SandboxFolder {
  readonly path: string;
  readonly mount: MountSource;
}

/** The folder of skills as files and of general sandboxes. */
export const product = 'product';

/** Makes the paths of what execs over layered skills, and in general sandboxes, work in, from parsed ids. */
export class LayeredPlaces {
  readonly #below: (...components: string[]) => AdaptedPath;

  constructor(below: (...components: string[]) => AdaptedPath) {
    this.#below = below;
  }

  foldersOf({
    projectId,
    execId,
  }: {
    readonly projectId: ProjectId;
    readonly execId: ExecId;
  }): LayeredFolders {
    const room = (...rest: string[]) => this.#below('projects', projectId, 'work', execId, ...rest);
    return {
      room: room().hostPathNative,
      overlay: mountSource(this.#below(product, 'skill', '.execs', execId, 'merged')),
      copy: mountSource(room('copy')),
    };
  }

  /** The projects of such execs that have a disk. */
  async disks(): Promise<ProjectId[]> {
    const found: ProjectId[] = [];
    try {
      await within(Directory.open(this.#below('disks').hostPathNative), async (folder) => {
        for await (const name of folder.names()) {
          const text = name.toString('latin1');
          if (isLayeredProject(text)) found.push(text);
        }
      });
    } catch (error) {
      if (!isErrno(error, 'ENOENT')) throw error;
    }
    return found;
  }

  sandboxOf({ userId, agentId }: SandboxPlace): SandboxFolder {
    const folder = this.#below(product, 'sandbox', userId, agentId);
    return { path: folder.hostPathNative, mount: mountSource(folder) };
  }
}
