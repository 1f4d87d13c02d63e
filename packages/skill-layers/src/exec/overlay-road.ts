import { chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Directory, within } from '@secbox/workspace';
import type { LayerStores } from '../store/layer-stores.js';
import { namesIn } from '../store/user-records.js';
import { allFolders, foldersAbove, type Tree, treeOf } from '../tree/tree.js';
import { ExecFindings, type FindingLimits } from './exec-findings.js';
import type { ExecBase, ExecPlaces, ExecResult, ExecRoad, HostMounts } from './exec-road.js';

/**
 * The kernel lays an upper folder of the exec's own over the skill. Afterwards what the upper folder holds was changed,
 * and what of the skill is missing in the folders it holds was deleted: so that neither whiteouts nor opaque folders
 * need to be understood, in whichever form this kernel keeps them.
 */
export class OverlayRoad implements ExecRoad {
  readonly name = 'overlay';
  readonly #stores: LayerStores;
  readonly #mounts: HostMounts;
  readonly #limits: FindingLimits;

  constructor(stores: LayerStores, mounts: HostMounts, limits: FindingLimits) {
    this.#stores = stores;
    this.#mounts = mounts;
    this.#limits = limits;
  }

  async begin(places: ExecPlaces, { lowers }: ExecBase, wanted?: string): Promise<string> {
    const { upper, work, own } = overlayIn(places);
    for (const path of [upper, work, ...(wanted === undefined ? [own] : [])]) {
      mkdirSync(path, { mode: 0o755 });
      if (this.#stores.owner) chownSync(path, this.#stores.owner.uid, this.#stores.owner.gid);
    }
    const target = wanted ?? own;
    await this.#mounts.overlay({ lower: lowers, upper, work, target });
    return target;
  }

  async collect(
    places: ExecPlaces,
    { skill: { tree } }: ExecBase,
    target: string,
    stop?: AbortSignal,
  ): Promise<ExecResult> {
    const { upper } = overlayIn(places);
    // What was deleted has left its mark there, too.
    if (readdirSync(upper, { encoding: 'buffer' }).length === 0) {
      return { tree, contents: new Map(), skipped: [] };
    }
    const path = join(places.folder, 'changed');
    mkdirSync(path, { mode: 0o700 });
    return within(Directory.open(path), async (directory) => {
      const findings = new ExecFindings(tree, { path, directory }, this.#stores.files, this.#limits, stop);
      const walk = new UpperWalk(tree, findings);
      await within(Directory.open(upper), (above) =>
        within(Directory.open(target), (merged) => walk.folder(above, merged, '')),
      );
      return { tree: walk.result(), contents: findings.contents, skipped: findings.skipped };
    });
  }

  async end(folder: string, target?: string): Promise<void> {
    if (target !== undefined) await this.#mounts.unmount(target);
    else if ((await namesIn(folder)).includes(ownName)) await this.#mounts.unmount(join(folder, ownName));
  }
}

const ownName = 'merged';

function overlayIn({ folder, room }: ExecPlaces) {
  return { upper: join(room, 'upper'), work: join(room, 'work'), own: join(folder, ownName) };
}

class UpperWalk {
  readonly #base: Tree;
  readonly #findings: ExecFindings;
  readonly #baseFolders: ReadonlySet<string>;
  readonly #namesIn: ReadonlyMap<string, ReadonlySet<string>>;
  /** Paths with all below them that are not there any more, or have something else in their place. */
  readonly #gone = new Set<string>();

  constructor(base: Tree, findings: ExecFindings) {
    this.#base = base;
    this.#findings = findings;
    this.#baseFolders = allFolders(base);
    this.#namesIn = namesByFolder([...base.files.keys(), ...this.#baseFolders]);
  }

  async folder(upper: Directory, merged: Directory, above: string): Promise<void> {
    const seen = new Set<string>();
    const before = this.#namesIn.get(above) ?? new Set<string>();
    for await (const name of merged.names()) {
      seen.add(name.toString('latin1'));
      // Links cost a program nothing: they are counted while they are read.
      this.#findings.assertFew(seen.size - before.size);
    }
    for (const name of before) {
      if (!seen.has(Buffer.from(name).toString('latin1'))) this.#gone.add(above + name);
    }
    for await (const name of upper.names()) {
      const path = this.#findings.pathOf(above, name);
      // Not in the merged view: a mark of something deleted.
      if (path !== undefined && seen.has(name.toString('latin1')))
        await this.#entry(upper, merged, name, path);
    }
  }

  async #entry(upper: Directory, merged: Directory, name: Buffer, path: string): Promise<void> {
    const stats = upper.bigStat(name);
    if (stats.isDirectory()) {
      if (this.#base.files.has(path)) this.#gone.add(path);
      this.#findings.folders.add(path);
      upper.reclaim(name);
      await within(upper.openDirectory(name), (folder) =>
        within(merged.openDirectory(name), (whole) => this.folder(folder, whole, `${path}/`)),
      );
    } else if (stats.isFile()) {
      const taken = await this.#findings.take(upper, name, path);
      if (taken && this.#baseFolders.has(path)) this.#gone.add(path);
    } else {
      this.#findings.skipOther(path, stats);
      this.#gone.add(path);
    }
  }

  result(): Tree {
    const isGone = (path: string) => {
      if (this.#gone.has(path)) return true;
      for (const folder of foldersAbove(path)) if (this.#gone.has(folder)) return true;
      return false;
    };
    const kept = [...this.#base.files].filter(([path]) => !isGone(path));
    const folders = [...this.#base.folders].filter((path) => !isGone(path));
    return treeOf(new Map([...kept, ...this.#findings.files]), [...folders, ...this.#findings.folders]);
  }
}

/** The names in each folder, whose path ends with `/`; the root's is empty. */
function namesByFolder(paths: Iterable<string>): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>();
  for (const path of paths) {
    const end = path.lastIndexOf('/') + 1;
    const folder = path.slice(0, end);
    names.set(folder, (names.get(folder) ?? new Set()).add(path.slice(end)));
  }
  return names;
}
