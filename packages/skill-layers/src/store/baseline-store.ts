import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type AgentId, type LayeredSkillId, parseLayeredSkillId, SecboxError } from '@secbox/contracts';
import { isErrno } from '@secbox/workspace';
import { fromDocument, toDocument, type Tree, type TreeDocument, versionOf } from '../tree/tree.js';
import type { DurableFiles, PlacedFile } from './durable-files.js';
import { type BaselinePlace, type LayerPaths } from './layer-paths.js';
import { namesIn, parsed } from './user-records.js';

/** How a version came to be. */
export type VersionOrigin = 'upload' | 'baseline';

export interface VersionRecord {
  readonly version: string;
  readonly created_at: string;
  readonly created_by: string | null;
  readonly origin: VersionOrigin;
  /** What was current before it. */
  readonly parent: string | null;
  readonly files: number;
  readonly bytes: number;
}

export interface Pointer {
  readonly version: string;
  readonly moved_at: string;
  readonly moved_by: string | null;
}

export interface Authorship {
  readonly at: Date;
  readonly by: string | null;
  readonly origin: VersionOrigin;
}

type VersionDocument = VersionRecord & { readonly tree: TreeDocument };

/** How the files of a version get into its folder. */
export type VersionFiles = { readonly staged: string } | { readonly placed: readonly PlacedFile[] };

const versionPattern = /^[0-9a-f]{64}$/;
const knownTrees = 2_000;

/** Versions of skills, which are never changed once they are there, and which of them are current. */
export class BaselineStore {
  readonly #files: DurableFiles;
  readonly #paths: LayerPaths;
  readonly #pointers = new Map<AgentId, Promise<Map<LayeredSkillId, Pointer>>>();
  readonly #trees = new Map<string, Promise<Tree>>();

  constructor(files: DurableFiles, paths: LayerPaths) {
    this.#files = files;
    this.#paths = paths;
  }

  async current(agentId: AgentId): Promise<ReadonlyMap<LayeredSkillId, Pointer>> {
    return this.#load(agentId);
  }

  /** Throws `skill_version_not_found` when there is none of that name. */
  async tree(place: BaselinePlace, version: string): Promise<Tree> {
    const key = `${place.agentId}/${place.skillId}/${version}`;
    const known =
      this.#trees.get(key) ?? this.#document(place, version).then(({ tree }) => fromDocument(tree));
    this.#trees.delete(key);
    this.#trees.set(key, known);
    known.catch(() => this.#trees.delete(key));
    const [oldest] = this.#trees.keys();
    if (this.#trees.size > knownTrees && oldest !== undefined) this.#trees.delete(oldest);
    return known;
  }

  /** Makes a version unless it is there already; what is current stays so. */
  async add(
    place: BaselinePlace,
    tree: Tree,
    from: VersionFiles,
    { at, by, origin }: Authorship,
  ): Promise<string> {
    const version = versionOf(tree);
    if (await this.#has(place, version)) return version;
    const folder = this.#paths.version(place, version);
    const document: VersionDocument = {
      version,
      created_at: at.toISOString(),
      created_by: by,
      origin,
      parent: (await this.#load(place.agentId)).get(place.skillId)?.version ?? null,
      files: tree.files.size,
      bytes: [...tree.files.values()].reduce((sum, { bytes }) => sum + bytes, 0),
      tree: toDocument(tree),
    };
    await this.#files.ensureFolder(this.#paths.versionDocuments(place));
    if ('staged' in from) {
      await this.#files.moveTree(from.staged, folder);
    } else {
      const aside = join(this.#paths.baseline(place), '.made');
      await this.#files.makeTree(aside, from.placed, [...tree.folders]);
      await this.#files.moveTree(aside, folder);
    }
    // The document comes last: a folder without one is what a crash left.
    await this.#files.writeDocument(this.#paths.versionDocument(place, version), document);
    return version;
  }

  /** The moment at which everybody's baseline is another one; null takes the skill out of it. */
  async point(
    { agentId, skillId }: BaselinePlace,
    version: string | null,
    at: Date,
    by: string | null,
  ): Promise<void> {
    await this.pointAll(agentId, new Map([[skillId, version]]), at, by);
  }

  /** As {@link point}, of several skills at one moment. */
  async pointAll(
    agentId: AgentId,
    versions: ReadonlyMap<LayeredSkillId, string | null>,
    at: Date,
    by: string | null,
  ): Promise<void> {
    const pointers = new Map(await this.#load(agentId));
    for (const [skillId, version] of versions) {
      if (version === null) pointers.delete(skillId);
      else pointers.set(skillId, { version, moved_at: at.toISOString(), moved_by: by });
    }
    const path = this.#paths.pointers(agentId);
    await this.#files.ensureFolder(dirname(path));
    try {
      await this.#files.writeDocument(path, { skills: [...pointers] });
    } finally {
      // Also when it failed: what is current now, the disk says.
      this.#pointers.delete(agentId);
    }
  }

  /** Newest first, as {@link byAge} has it. */
  async versions(place: BaselinePlace): Promise<VersionRecord[]> {
    const names = await namesIn(this.#paths.versionDocuments(place));
    const records: VersionRecord[] = [];
    for (const name of names.filter((each) => versionPattern.test(each.slice(0, -'.json'.length)))) {
      const { tree: _, ...record } = await this.#document(place, name.slice(0, -'.json'.length));
      records.push(record);
    }
    return records.sort(byAge);
  }

  /** Whose skill folders there are, current or not. */
  async skills(agentId: AgentId): Promise<LayeredSkillId[]> {
    const names = await namesIn(join(this.#paths.baselines, agentId));
    return names.flatMap((name) => parsed(parseLayeredSkillId, name));
  }

  /** What a version is made of, for whoever removes it; the document goes first, so that nobody finds half of one. */
  parts(place: BaselinePlace, version: string): string[] {
    this.#trees.delete(`${place.agentId}/${place.skillId}/${version}`);
    return [this.#paths.versionDocument(place, version), this.#paths.version(place, version)];
  }

  /** Folders that a crash left without their document, and documents that are not in their place. */
  async unfinished(place: BaselinePlace): Promise<string[]> {
    const documents = this.#paths.versionDocuments(place);
    const names = (await namesIn(documents)).filter((name) => name.endsWith('.tmp'));
    const found = names.map((name) => join(documents, name));
    for (const name of await namesIn(this.#paths.baseline(place))) {
      const isVersion = versionPattern.test(name) && (await this.#has(place, name));
      if (name !== '.meta' && !isVersion) found.push(join(this.#paths.baseline(place), name));
    }
    return found;
  }

  async #has(place: BaselinePlace, version: string): Promise<boolean> {
    try {
      await access(this.#paths.versionDocument(place, version));
      return true;
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return false;
      throw error;
    }
  }

  async #document(place: BaselinePlace, version: string): Promise<VersionDocument> {
    const found = versionPattern.test(version)
      ? await this.#files.readDocument(this.#paths.versionDocument(place, version))
      : undefined;
    if (found !== undefined) return found as VersionDocument;
    throw new SecboxError('skill_version_not_found', `The skill ${place.skillId} has no such version.`, {
      details: { skillId: place.skillId },
    });
  }

  #load(agentId: AgentId): Promise<Map<LayeredSkillId, Pointer>> {
    const known = this.#pointers.get(agentId) ?? this.#read(agentId);
    this.#pointers.set(agentId, known);
    known.catch(() => this.#pointers.delete(agentId));
    return known;
  }

  async #read(agentId: AgentId): Promise<Map<LayeredSkillId, Pointer>> {
    const found = await this.#files.readDocument(this.#paths.pointers(agentId));
    const { skills } = (found ?? { skills: [] }) as { skills: [string, Pointer][] };
    return new Map(skills.map(([skillId, pointer]) => [parseLayeredSkillId(skillId), pointer]));
  }
}

/** The newer one first; of two of the same moment always the same. */
export function byAge(
  a: Pick<VersionRecord, 'created_at' | 'version'>,
  b: Pick<VersionRecord, 'created_at' | 'version'>,
): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? 1 : -1;
  return a.version < b.version ? -1 : 1;
}
