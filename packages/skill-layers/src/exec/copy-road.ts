import { constants } from 'node:fs';
import { chmod, chown, copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Directory, within } from '@secbox/workspace';
import pLimit from 'p-limit';
import type { LayerStores } from '../store/layer-stores.js';
import { allFolders, type FileEntry, type Tree, treeOf } from '../tree/tree.js';
import { ExecFindings, type FindingLimits } from './exec-findings.js';
import type { ExecBase, ExecPlaces, ExecResult, ExecRoad } from './exec-road.js';

const atOnce = 16;

/** Where the kernel lays nothing over anything: the exec gets a copy, and all of it is compared afterwards. */
export class CopyRoad implements ExecRoad {
  readonly name = 'copy';
  readonly #stores: LayerStores;
  readonly #limits: FindingLimits;

  constructor(stores: LayerStores, limits: FindingLimits) {
    this.#stores = stores;
    this.#limits = limits;
  }

  async begin({ room }: ExecPlaces, { skill }: ExecBase): Promise<string> {
    const copy = join(room, 'copy');
    for (const path of ['', ...[...allFolders(skill.tree)].sort()]) {
      await mkdir(join(copy, path), { mode: 0o755 });
      await this.#own(join(copy, path));
    }
    const limit = pLimit(atOnce);
    await Promise.all(
      [...skill.tree.files].map(([path, { executable }]) =>
        limit(async () => {
          const to = join(copy, path);
          await copyFile(skill.locate(path), to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
          await chmod(to, executable ? 0o755 : 0o644);
          await this.#own(to);
        }),
      ),
    );
    return copy;
  }

  async collect(
    { folder, room }: ExecPlaces,
    { skill: { tree } }: ExecBase,
    _target: string,
    stop?: AbortSignal,
  ): Promise<ExecResult> {
    const path = join(folder, 'changed');
    await mkdir(path, { mode: 0o700 });
    return within(Directory.open(path), async (directory) => {
      const findings = new ExecFindings(tree, { path, directory }, this.#stores.files, this.#limits, stop);
      const notTaken = new Map<string, FileEntry>();
      await within(Directory.open(join(room, 'copy')), (root) => walk(root, '', tree, findings, notTaken));
      const files = new Map([...notTaken, ...findings.files]);
      return {
        tree: treeOf(files, findings.folders),
        contents: findings.contents,
        skipped: findings.skipped,
      };
    });
  }

  end(): Promise<void> {
    return Promise.resolve();
  }

  async #own(path: string): Promise<void> {
    if (this.#stores.owner) await chown(path, this.#stores.owner.uid, this.#stores.owner.gid);
  }
}

/** What is too large to be kept, or protected, stays as it was. */
async function walk(
  folder: Directory,
  above: string,
  base: Tree,
  findings: ExecFindings,
  notTaken: Map<string, FileEntry>,
): Promise<void> {
  for await (const name of folder.names()) {
    const path = findings.pathOf(above, name);
    if (path === undefined) continue;
    const stats = folder.bigStat(name);
    if (stats.isDirectory()) {
      findings.folders.add(path);
      folder.reclaim(name);
      await within(folder.openDirectory(name), (below) => walk(below, `${path}/`, base, findings, notTaken));
    } else if (stats.isFile()) {
      const before = base.files.get(path);
      if (!(await findings.take(folder, name, path)) && before) notTaken.set(path, before);
    } else {
      findings.skipOther(path, stats);
    }
  }
}
