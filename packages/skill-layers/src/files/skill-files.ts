import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseProtected } from '@secbox/command-guard';
import { SecboxError } from '@secbox/contracts';
import { type LineRange, replaceLines, sha256Of } from '@secbox/workspace';
import type { Generations, NewContent } from '../store/generations.js';
import type { SkillPlace } from '../store/layer-paths.js';
import type { LayerStores } from '../store/layer-stores.js';
import type { SkillView, SkillViews } from '../store/skill-views.js';
import { emptyTree, type FileEntry, type Tree } from '../tree/tree.js';
import { withFile, withMoved, without } from './edit-tree.js';
import { contentAt, pathOf } from './readable-skill.js';

/** What a change takes for granted; when it is not so, nothing happens. */
export interface Precondition {
  /** The etag that the file must have, or `*` for any. */
  readonly ifMatch?: string | undefined;
  /** The file must not be there. */
  readonly ifAbsent?: boolean | undefined;
}

export interface WriteOptions extends Precondition {
  readonly executable?: boolean;
  readonly mostBytes?: number;
}

export interface ChangedFile {
  readonly path: string;
  readonly etag: string;
  readonly bytes: number;
  readonly created: boolean;
  readonly generation: number;
}

/** What is edited in one piece. */
export const largestText = 16 * 1024 ** 2;
const largestFile = 256 * 1024 ** 2;

/** Changes of a user's skills, one file at a time. A skill that is not there comes to be with its first file. */
export class SkillFiles {
  readonly #stores: LayerStores;
  readonly #views: SkillViews;
  readonly #generations: Generations;

  constructor(stores: LayerStores, views: SkillViews, generations: Generations) {
    this.#stores = stores;
    this.#views = views;
    this.#generations = generations;
  }

  /** Writes a whole file as it comes; nothing of it is seen before the end. */
  async write(
    place: SkillPlace,
    path: string,
    content: AsyncIterable<Buffer> | Iterable<Buffer>,
    options: WriteOptions = {},
  ): Promise<ChangedFile> {
    const at = changeable(path);
    return this.#stores.withStaging(async (staging) => {
      const file = join(staging, 'content');
      const { sha256, bytes } = await receive(file, content, options.mostBytes ?? largestFile);
      return this.#views.writing(place, async () => {
        const view = await this.#views.find(place);
        const before = checked(view?.tree.files.get(at), options, at);
        const executable = options.executable ?? before?.executable ?? false;
        await this.#stores.files.finishContent(file, executable);
        return this.#put(
          place,
          view,
          at,
          { sha256, bytes, executable },
          { path: file, executable, isSynced: true },
        );
      });
    });
  }

  /** Replaces all of a file, or some of its lines, by text. */
  async edit(
    place: SkillPlace,
    path: string,
    text: string,
    { start, end, ...precondition }: LineRange & Precondition = {},
  ): Promise<ChangedFile> {
    const at = changeable(path);
    const byLines = start !== undefined || end !== undefined;
    return this.#views.writing(place, async () => {
      const view = await this.#views.find(place);
      const before = checked(view?.tree.files.get(at), precondition, at);
      const old =
        byLines && view && before ? await contentAt(this.#readable(view), at, largestText) : Buffer.alloc(0);
      const content = byLines ? replaceLines(old, text, { start, end }) : Buffer.from(text);
      if (content.length > largestText) {
        throw new SecboxError('file_too_large', `A file that is edited has at most ${largestText} bytes.`);
      }
      const executable = before?.executable ?? false;
      const entry = { sha256: sha256Of(content), bytes: content.length, executable };
      return this.#stores.withStaging(async (staging) => {
        const fresh = { path: join(staging, 'content'), executable, isSynced: false };
        await this.#stores.files.writeContent(fresh.path, content, executable);
        return this.#put(place, view, at, entry, fresh);
      });
    });
  }

  /** A file, or a folder with all in it. */
  async delete(place: SkillPlace, path: string, precondition: Precondition = {}): Promise<void> {
    const at = changeable(path);
    await this.#views.writing(place, async () => {
      const view = await this.#views.get(place);
      checked(view.tree.files.get(at), precondition, at);
      const tree = without(view.tree, at);
      if (!tree) throw notFound(at);
      await this.#replace(place, view, tree);
    });
  }

  async move(place: SkillPlace, from: string, to: string, precondition: Precondition = {}): Promise<void> {
    const [source, target] = [changeable(from), changeable(to)];
    await this.#views.writing(place, async () => {
      const view = await this.#views.get(place);
      checked(view.tree.files.get(source), precondition, source);
      const tree = withMoved(view.tree, source, target);
      if (!tree) throw notFound(source);
      await this.#replace(place, view, tree);
    });
  }

  async #put(
    place: SkillPlace,
    view: SkillView | undefined,
    path: string,
    entry: FileEntry,
    content: NewContent,
  ): Promise<ChangedFile> {
    const tree = withFile(view?.tree ?? emptyTree, path, entry);
    const contents = new Map([[entry.sha256, content]]);
    const { generation } = await this.#replace(place, view, tree, contents);
    const created = view?.tree.files.has(path) !== true;
    return { path, etag: entry.sha256, bytes: entry.bytes, created, generation };
  }

  /** A skill that the user deleted before begins anew: nothing of the baseline comes back with one file. */
  async #replace(
    place: SkillPlace,
    view: SkillView | undefined,
    tree: Tree,
    contents?: ReadonlyMap<string, NewContent>,
  ): Promise<{ readonly generation: number }> {
    const record = view?.record ?? (await this.#views.records(place)).get(place.skillId);
    return this.#generations.store(place, view, {
      tree,
      pin: record?.pin ?? null,
      opaque: view ? view.record.opaque : record !== undefined,
      ...(contents ? { contents } : {}),
    });
  }

  #readable(view: SkillView) {
    return { tree: view.tree, locate: (path: string) => this.#views.locate(view, path) };
  }
}

function changeable(path: string): string {
  const at = pathOf(path);
  refuseProtected(at.split('/'), 'skill');
  return at;
}

function checked(
  entry: FileEntry | undefined,
  precondition: Precondition,
  path: string,
): FileEntry | undefined {
  const { ifMatch, ifAbsent } = precondition;
  const isThere = entry !== undefined;
  const isTaken = isThere && ifAbsent === true;
  const isOther = ifMatch !== undefined && (!isThere || (ifMatch !== '*' && ifMatch !== entry.sha256));
  if (!isTaken && !isOther) return entry;
  throw new SecboxError('file_changed', `The file ${path} is not what the change begins from.`, {
    details: { path, etag: entry?.sha256 ?? null },
  });
}

function notFound(path: string): SecboxError {
  return new SecboxError('file_not_found', `There is no file or folder ${path}.`, { details: { path } });
}

async function receive(
  path: string,
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
  mostBytes: number,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const digest = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const piece of content) {
      bytes += piece.length;
      if (bytes > mostBytes) {
        throw new SecboxError('file_too_large', `A file has at most ${mostBytes} bytes.`, {
          details: { most: mostBytes },
        });
      }
      digest.update(piece);
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sha256: digest.digest('hex'), bytes };
}
