import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { PassThrough } from 'node:stream';
import { createLogger } from '@secbox/logging';
import type { MountSource, WorkspaceMounts } from '@secbox/workspace';
import { openHostMounts, type HostMounts } from '../host-mounts.js';
import { mountPointsBelow } from '../mount-table.js';

export const silent = createLogger({
  level: 'error',
  format: 'json',
  destination: new PassThrough().resume(),
});

/** As set-up made it. */
export function mountsProgram(): string {
  const program = env['SECBOX_MOUNTS_PROGRAM'] ?? '';
  if (!existsSync(program)) {
    throw new Error('SECBOX_MOUNTS_PROGRAM names no program; npm run test:docker makes it and sets that.');
  }
  return program;
}

/** A folder with sources and a root of targets, and the program on it. */
export class MountingPlace {
  readonly root: string;
  readonly sources: string;
  readonly targets: string;
  readonly mounts: HostMounts;

  private constructor(root: string, mounts: HostMounts) {
    this.root = root;
    this.sources = join(root, 'sources');
    this.targets = join(root, 'slots');
    this.mounts = mounts;
  }

  static async open({ disks = false } = {}): Promise<MountingPlace> {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'secbox mounts-')));
    // The sandbox's user must come as far as its own.
    await chmod(root, 0o711);
    await mkdir(join(root, 'sources'));
    await mkdir(join(root, 'slots'));
    const roots = rootsIn(root);
    const opened = await openHostMounts({ program: mountsProgram(), roots, disks, logger: silent });
    if (!opened.available) throw new Error(opened.reason);
    return new MountingPlace(root, opened.mounts);
  }

  /** As a server that starts on the same folders. */
  async again(): Promise<HostMounts> {
    const roots = rootsIn(this.root);
    const opened = await openHostMounts({ program: mountsProgram(), roots, logger: silent });
    if (!opened.available) throw new Error(opened.reason);
    return opened.mounts;
  }

  source(...names: string[]): string {
    return join(this.sources, ...names);
  }

  target(...names: string[]): string {
    return join(this.targets, ...names);
  }

  /** Folders such as those of an exec, each with a file that names it. */
  async makeSources(): Promise<WorkspaceMounts> {
    const make = async (name: string) => {
      await mkdir(this.source(name), { recursive: true });
      await writeFile(join(this.source(name), `${name}.txt`), name);
      return this.source(name) as MountSource;
    };
    return { inputs: await make('inputs'), work: await make('work'), artifacts: await make('artifacts') };
  }

  /** Mount points that are there now. */
  left(): Promise<string[]> {
    return mountPointsBelow(this.root);
  }

  /** What is left mounted is undone for the next test, and told. */
  async close(): Promise<string[]> {
    const left = (await this.left()).filter((point) => point !== this.targets);
    await this.mounts.close();
    const last = await this.again();
    for (const point of left) await last.unmount(point).catch(() => undefined);
    await last.unmount(this.targets).catch(() => undefined);
    await last.close();
    await rm(this.root, { recursive: true });
    return left;
  }
}

function rootsIn(root: string) {
  return { sources: [join(root, 'sources')], targets: [join(root, 'slots')] };
}
