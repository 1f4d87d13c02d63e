import { SecboxError } from '@secbox/contracts';
import type { RetentionParts } from './retention-parts.js';
import type { ProjectKey, ProjectRemovalRecord, RemovalScope, Tombstone } from './retention-records.js';
import { takeProject, type TakenProject } from './take-project.js';

export interface ProjectTaking {
  readonly scope: RemovalScope;
  readonly tombstone: () => Tombstone;
  /** Asked when nobody can use the project any more; a project that is not there is never due. */
  readonly isDue: (lastUse: string) => Promise<boolean>;
  readonly cancel?: boolean;
}

const retryMs = 500;

/**
 * Takes projects out of everyone's reach. Once that is recorded it is gone through with: until it is, no exec
 * gets into the project, by this server or by the next.
 */
export class ProjectRemover {
  readonly #parts: RetentionParts;
  readonly #closing: AbortSignal;

  constructor(parts: RetentionParts, closing: AbortSignal) {
    this.#parts = parts;
    this.#closing = closing;
  }

  /** Undefined when it turned out not to be due; throws `project_in_use`. */
  take(
    project: ProjectKey,
    { scope, tombstone, isDue, cancel = false }: ProjectTaking,
  ): Promise<TakenProject | undefined> {
    const { records, workspace, unmount, whileUnused } = this.#parts;
    return whileUnused(
      project,
      async () => {
        const lastUse = await records.lastUse(project);
        if (lastUse === undefined || !(await isDue(lastUse))) return undefined;
        if (scope === 'project' && !(await unmount(workspace.diskOf(project)))) throw workInUse(project);
        return this.#goThrough(await records.beginRemoval(project, scope, tombstone()));
      },
      { cancel },
    );
  }

  /** Goes on with what an earlier server began; the projects are closed to execs when this returns. */
  async resume(): Promise<Promise<TakenProject>[]> {
    const removals = await this.#parts.records.unfinishedRemovals();
    return removals.map((removal) => this.#parts.whileUnused(removal, () => this.#goThrough(removal)));
  }

  async #goThrough(removal: ProjectRemovalRecord): Promise<TakenProject> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await takeProject(this.#parts, removal);
      } catch (error) {
        const { projectId: project_id } = removal;
        if (failures === 0) this.#parts.logger.error('project.removal_cut_off', { project_id, error });
        if (this.#closing.aborted) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

function workInUse({ projectId }: ProjectKey): SecboxError {
  return new SecboxError('project_in_use', 'Something on the host is using the work folder of the project.', {
    details: { project_id: projectId },
  });
}
