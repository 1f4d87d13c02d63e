import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { isLayeredProject, type ProjectId, SecboxError, type TenantId } from '@secbox/contracts';
import type { DiskLimits, ExecRunner } from '@secbox/exec-runner';
import type { Database } from '@secbox/database';
import type { SkillLayers } from '@secbox/skill-layers';
import {
  Directory,
  type FilePrecondition,
  FolderFiles,
  isSecretInput,
  type Owner,
  parseRelativePath,
  type ProjectArea,
  type Workspace,
  within,
} from '@secbox/workspace';
import { contentOf, NamedLocks, stagingIn } from '../layers/sandboxes.js';
import type { TenantLayers } from '../layers/tenant-layers.js';
import type { AreaChange, FileArea } from './file-area.js';
import { folderArea } from './folder-area.js';

export interface ProjectAreasOptions {
  readonly workspace: Pick<Workspace, 'areaOf' | 'diskOf' | 'inputsOf'>;
  readonly runner: Pick<ExecRunner, 'whileKept' | 'whileUnused'>;
  readonly disk: Pick<DiskLimits, 'holdWork'>;
  readonly layers: Pick<TenantLayers, 'of'>;
  /** Where it is on record which contents are a project's, and when its files were changed. */
  readonly changes: Pick<Database['retention'], 'noteChange'>;
  readonly now?: () => Date;
  readonly owner?: Owner | undefined;
}

interface Project {
  readonly tenant: TenantId;
  readonly projectId: ProjectId;
}

/**
 * The files of projects that have had an exec. Work is looked at and changed beside the project's execs; inputs are
 * changed while it has none, as what an exec sees is on record; what execs left behind is only read.
 */
export class ProjectAreas {
  readonly #options: ProjectAreasOptions;
  readonly #locks = new NamedLocks();

  constructor(options: ProjectAreasOptions) {
    this.#options = options;
  }

  async of(project: Project, area: ProjectArea): Promise<FileArea> {
    // What execs over layered skills write there on the way is nobody's to read or change.
    if (isLayeredProject(project.projectId) && area !== 'artifacts') throw projectNotFound(project.projectId);
    const layers = await this.#options.layers.of(project.tenant);
    switch (area) {
      case 'work':
        return this.#work(project, layers);
      case 'inputs':
        return this.#inputs(project, layers);
      case 'artifacts':
        return readOnly(this.#inputs(project, layers, 'artifacts'));
    }
  }

  #work(project: Project, layers: SkillLayers): FileArea {
    const { disk, workspace, owner } = this.#options;
    const held = async <T>(use: (files: FolderFiles) => Promise<T>): Promise<T> => {
      const letGo = await disk.holdWork(workspace.diskOf(project));
      try {
        return await use(new FolderFiles({ folder: this.#folder(project, 'work'), owner }));
      } finally {
        letGo();
      }
    };
    const kept = <T>(use: (files: FolderFiles) => Promise<T>) => this.#kept(project, 'work', () => held(use));
    return folderArea({
      reading: kept,
      changing: (use) =>
        this.#locks.using(this.#name(project, 'work'), (lock) =>
          lock.alone(() => kept((files) => this.#noted(project).then(() => use(files)))),
        ),
      staging: stagingIn(layers),
      // An open file alone would keep the disk from being unmounted, with nobody knowing why.
      hold: () => this.#kept(project, 'work', () => disk.holdWork(workspace.diskOf(project))),
    });
  }

  #inputs(project: Project, layers: SkillLayers, area: 'inputs' | 'artifacts' = 'inputs'): FileArea {
    const files = () =>
      new FolderFiles({
        folder: this.#folder(project, area),
        // Inputs are written past it, from where they are received.
        writes: false,
        ...(area === 'inputs' ? { checkReadable: refuseSecret } : {}),
      });
    const reading = <T>(use: (files: FolderFiles) => Promise<T>) =>
      this.#kept(project, area, () => use(files()));
    const alone = <T>(use: (files: FolderFiles) => Promise<T>) => {
      const unused = () => this.#options.runner.whileUnused(project, () => use(files()));
      return this.#locks.using(this.#name(project, 'calls'), (lock) => lock.alone(unused));
    };
    const changing = <T>(use: (files: FolderFiles) => Promise<T>) =>
      alone((found) => this.#noted(project).then(() => use(found)));
    const put = (path: string, content: AsyncIterable<Buffer>, precondition: FilePrecondition) =>
      layers.withUpload(async (folder) => {
        const received = await receive(join(folder, 'content'), content);
        return alone(async (found) => {
          const before = await this.#before(found, path, precondition);
          await this.#noted(project, received.sha256);
          const input = { path: parseRelativePath(path, 'path'), secret: false, ...received };
          const staged = { ...input, content: { staged: 'content' } };
          await within(Directory.open(folder), (staging) =>
            this.#options.workspace.inputsOf(project).write([staged], staging),
          );
          const { etag, bytes } = await found.stat(path);
          return { path, bytes, etag, created: !before } satisfies AreaChange;
        });
      });
    return {
      ...folderArea({ reading, changing, staging: stagingIn(layers) }),
      write: (path, content, { executable, mostBytes, ...precondition }) => {
        parseRelativePath(path, 'path');
        if (executable === true) throw invalid('Inputs are not executable.');
        return stagingIn(layers)(content, mostBytes, (staged) => put(path, staged(), precondition));
      },
      edit: (path, text, { start, end, ...precondition }) =>
        layers.withUpload(async (folder) => {
          // Made aside from what is there, and put in its place only if it is still that.
          const scratch = new FolderFiles({ folder });
          const byLines = start !== undefined || end !== undefined;
          const old = byLines ? await reading((found) => textIfThere(found, path)) : undefined;
          if (old) await scratch.edit('edited', old.text);
          await scratch.edit('edited', text, { start, end });
          const same = old ? { ifMatch: old.etag } : byLines ? { ifAbsent: true } : {};
          if (precondition.ifMatch !== undefined && old && ![old.etag, '*'].includes(precondition.ifMatch)) {
            throw changed(path, old.etag);
          }
          return put(path, contentOf(join(folder, 'edited')), { ...precondition, ...same });
        }),
    };
  }

  /** On record before it is done: a content is its project's from then on, and the project in use. */
  #noted(project: Project, sha256?: string): Promise<void> {
    const { changes, now = () => new Date() } = this.#options;
    return changes.noteChange(project, now().toISOString(), sha256);
  }

  async #before(files: FolderFiles, path: string, { ifMatch, ifAbsent }: FilePrecondition): Promise<boolean> {
    const etag = await files.stat(path).then(
      (facts) => facts.etag,
      (error: unknown) => {
        if (error instanceof SecboxError && error.code === 'file_not_found') return null;
        // That there is a secret may be known: it is listed. What it is stays its own.
        if (error instanceof SecboxError && error.code === 'file_secret') return 'secret';
        throw error;
      },
    );
    const isOther = ifMatch !== undefined && (etag === null || (ifMatch !== '*' && ifMatch !== etag));
    if (isOther || (ifAbsent === true && etag !== null)) throw changed(path, etag);
    return etag !== null;
  }

  /** Beside execs, and not while the inputs are changed by another call, which wants the project without any. */
  #kept<T>(project: Project, area: ProjectArea, work: () => Promise<T>): Promise<T> {
    const keep = () =>
      this.#options.runner.whileKept(project, async () => {
        this.#folder(project, area);
        return work();
      });
    return this.#locks.using(this.#name(project, 'calls'), (lock) => lock.shared(keep));
  }

  #folder(project: Project, area: ProjectArea): string {
    const folder = this.#options.workspace.areaOf(project, area);
    if (folder !== undefined) return folder;
    throw projectNotFound(project.projectId);
  }

  #name({ tenant, projectId }: Project, what: string): string {
    return `${tenant}/${projectId}/${what}`;
  }
}

function readOnly(area: FileArea): FileArea {
  const refuse = () =>
    Promise.reject(new SecboxError('method_not_allowed', 'What execs left behind is only read.'));
  return { ...area, write: refuse, edit: refuse, delete: refuse, move: refuse };
}

function refuseSecret(stats: Stats): void {
  if (isSecretInput(stats)) throw new SecboxError('file_secret', 'The input is secret, and told to nobody.');
}

async function textIfThere(files: FolderFiles, path: string) {
  try {
    return await files.readText(path);
  } catch (error) {
    if (error instanceof SecboxError && error.code === 'file_not_found') return undefined;
    throw error;
  }
}

async function receive(path: string, content: AsyncIterable<Buffer>) {
  const digest = createHash('sha256');
  let size = 0;
  const file = await open(path, 'w', 0o644);
  try {
    for await (const piece of content) {
      digest.update(piece);
      size += piece.length;
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { size, sha256: digest.digest('hex') };
}

function invalid(why: string): SecboxError {
  return new SecboxError('invalid_request', why);
}

function changed(path: string, etag: string | null): SecboxError {
  return new SecboxError('file_changed', `The file ${path} is not what the change begins from.`, {
    details: { path, etag },
  });
}

export function projectNotFound(projectId: ProjectId): SecboxError {
  return new SecboxError('project_not_found', `There is no project ${projectId}.`);
}
