import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import {
  type ExecId,
  newExecId,
  parseAgentId,
  parseLayeredSkillId,
  parseUserId,
  SecboxError,
} from '@secbox/contracts';
import { zipOf } from './zip-of.js';
import type { HostMounts } from '../exec/exec-road.js';
import { SkillLayers } from '../skill-layers.js';
import {
  canonical,
  makeFolder,
  merge,
  Model,
  type ModelTree,
  nothing,
  Refused,
  remove,
  write,
  move,
} from './model.js';
import { type Operation, type ProgramStep, users } from './random-operations.js';

const agentId = parseAgentId('agent');
const placeOf = (user: string, skill: string) => ({
  userId: parseUserId(user),
  agentId,
  skillId: parseLayeredSkillId(skill),
});

interface Exec {
  readonly execId: ExecId;
  readonly user: string;
  readonly skill: string;
  readonly base: ModelTree;
  readonly tree: ModelTree;
}

/** Does the same to the layers and to the model, and finds them equal. */
export class ModelRun {
  readonly #root: string;
  readonly #mounts: HostMounts | undefined;
  readonly #model = new Model();
  readonly #versions = new Map<string, string>();
  readonly #begun = new Set<ExecId>();
  #execs: Exec[] = [];
  #layers: SkillLayers | undefined;

  constructor(root: string, mounts: HostMounts | undefined) {
    this.#root = root;
    this.#mounts = mounts;
  }

  async all(operations: readonly Operation[]): Promise<void> {
    await this.#open();
    try {
      for (const operation of operations) {
        await this.#one(operation);
        await this.#noteVersions();
      }
      await this.#compare();
    } finally {
      // Also of a run that failed: a mount would outlive it.
      for (const execId of this.#begun) await this.#layers?.abandonExec(execId);
      await this.#layers?.close();
    }
  }

  async #open(): Promise<SkillLayers> {
    this.#layers = await SkillLayers.open({
      root: this.#root,
      ...(this.#mounts ? { mounts: this.#mounts } : {}),
    });
    return this.#layers;
  }

  /** Both refuse for the same reason, or neither does. */
  async #both<T>(real: (layers: SkillLayers) => Promise<T>, model: () => unknown): Promise<T | undefined> {
    let expected: string | undefined;
    let wanted: unknown;
    try {
      wanted = model();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      expected = error.code;
    }
    try {
      const result = await real(this.#layers ?? (await this.#open()));
      expect(expected).toBeUndefined();
      if (wanted !== undefined) expect(conflictsOf(result)).toEqual(wanted);
      return result;
    } catch (error) {
      if (!(error instanceof SecboxError)) throw error;
      expect(error.code).toBe(expected);
      return undefined;
    }
  }

  async #one(operation: Operation): Promise<void> {
    const model = this.#model;
    switch (operation.op) {
      case 'edit': {
        const { user, skill, path, content } = operation;
        await this.#both(
          (layers) => layers.editFile(placeOf(user, skill), path, content),
          () => model.change(user, skill, (tree) => write(tree, path, content), true),
        );
        break;
      }
      case 'delete': {
        const { user, skill, path } = operation;
        await this.#both(
          (layers) => layers.deleteFile(placeOf(user, skill), path),
          () => model.change(user, skill, (tree) => remove(tree, path)),
        );
        break;
      }
      case 'move': {
        const { user, skill, path, to } = operation;
        if (to.endsWith('/SKILL.md')) break;
        await this.#both(
          (layers) => layers.moveFile(placeOf(user, skill), path, to),
          () => model.change(user, skill, (tree) => move(tree, path, to)),
        );
        break;
      }
      case 'deleteSkill': {
        const { user, skill } = operation;
        await this.#both(
          (layers) => layers.deleteSkill(placeOf(user, skill)),
          () => model.deleteSkill(user, skill),
        );
        break;
      }
      case 'upload':
        await this.#upload(operation);
        break;
      case 'baseline': {
        const { user, skill, force } = operation;
        await this.#both(
          (layers) => layers.baseline(placeOf(user, skill), user, force),
          () => model.baseline(user, skill, force),
        );
        break;
      }
      case 'sync': {
        const { user, skill, keep } = operation;
        await this.#both(
          (layers) => layers.sync(placeOf(user, skill), { keep }),
          () => model.sync(user, skill, keep),
        );
        break;
      }
      case 'begin':
        await this.#begin(operation.user, operation.skill, operation.steps);
        break;
      case 'commit':
        await this.#commit(operation.nth);
        break;
      case 'withdraw':
        await this.#both(
          (layers) => layers.withdrawBaseline(placeOf('u1', operation.skill), null),
          () => {
            if (!model.current.delete(operation.skill)) throw new Refused('skill_not_found');
          },
        );
        break;
      case 'restoreVersion': {
        const known = model.versions.get(operation.skill) ?? [];
        const tree = known[operation.nth % Math.max(1, known.length)];
        const version = tree && this.#versions.get(versionKey(operation.skill, tree));
        if (tree === undefined || version === undefined) break;
        await this.#both(
          (layers) => layers.restoreVersion(placeOf('u1', operation.skill), version, null),
          () => void model.current.set(operation.skill, tree),
        );
        break;
      }
      case 'collectGarbage':
        await this.#layers?.collectGarbage();
        break;
      case 'reopen':
        for (const { execId } of this.#execs) await this.#layers?.abandonExec(execId);
        this.#execs = [];
        await this.#layers?.close();
        await this.#open();
        break;
    }
  }

  async #upload({ user, skill, scope, files }: Extract<Operation, { op: 'upload' }>): Promise<void> {
    const archive = join(this.#root, 'upload.zip');
    await writeFile(archive, zipOf(skill, files));
    const tree = Object.entries(files).reduce((made, [path, content]) => write(made, path, content), nothing);
    const { userId } = placeOf(user, skill);
    await this.#both(
      (layers) => layers.upload({ userId, agentId }, archive, { archiveName: 'upload.zip', scope }),
      () => {
        if (scope === 'baseline') this.#model.publish(skill, tree);
        else this.#model.change(user, skill, () => tree, true);
      },
    );
  }

  async #begin(user: string, skill: string, steps: readonly ProgramStep[]): Promise<void> {
    const execId = newExecId();
    const begun = await this.#both(
      (layers) => layers.beginExec(placeOf(user, skill), execId),
      () => void this.#model.tree(user, skill),
    );
    if (!begun) return;
    this.#begun.add(execId);
    const base = this.#model.tree(user, skill);
    let tree = base;
    for (const step of steps) {
      try {
        tree = {
          write: () => write(tree, step.path, 'content' in step ? step.content : ''),
          remove: () => remove(tree, step.path),
          mkdir: () => makeFolder(tree, step.path),
        }[step.do]();
      } catch {
        continue;
      }
      await runStep(begun.target, step);
    }
    expect(canonical(await readTree(begun.target))).toBe(canonical(tree));
    this.#execs.push({ execId, user, skill, base, tree });
  }

  async #commit(nth: number): Promise<void> {
    const exec = this.#execs[nth % Math.max(1, this.#execs.length)];
    if (!exec) return;
    this.#execs = this.#execs.filter((each) => each !== exec);
    const { execId, user, skill, base, tree } = exec;
    if (canonical(base) === canonical(tree)) {
      await this.#layers?.commitExec(execId);
      return;
    }
    const effects = await this.#both(
      (layers) => layers.commitExec(execId),
      () => {
        let conflicts: string[] = [];
        const mark = `conflict-${execId.slice(0, 8)}`;
        const change = (here: ModelTree) => {
          const merged = merge(base, here, tree, mark);
          ({ conflicts } = merged);
          return merged.tree;
        };
        const known = this.#model.of(user).get(skill);
        const before = canonical(known?.tree ?? nothing);
        // Nothing comes of an exec of a skill that is gone, unless it left something.
        if (canonical(change(known?.tree ?? nothing)) !== before)
          this.#model.change(user, skill, change, true);
        return conflicts;
      },
    );
    expect(effects?.added.map(({ path }) => path)).toEqual(
      [...tree.files.keys()].filter((path) => !base.files.has(path)).sort(),
    );
    expect(effects?.deleted.map(({ path }) => path)).toEqual(
      [...base.files.keys()].filter((path) => !tree.files.has(path)).sort(),
    );
    expect(effects?.changed.map(({ path }) => path)).toEqual(
      [...tree.files]
        .filter(([path, c]) => base.files.has(path) && base.files.get(path) !== c)
        .map(([path]) => path)
        .sort(),
    );
  }

  /** As they are on disk when they are first seen. */
  async #noteVersions(): Promise<void> {
    for (const skill of this.#model.versions.keys()) {
      for (const { version } of (await this.#layers?.versions(placeOf('u1', skill))) ?? []) {
        const key = `${skill}/${version}`;
        if (this.#versions.has(key)) continue;
        const tree = await this.#versionTree(skill, version);
        this.#versions.set(key, canonical(tree));
        this.#versions.set(versionKey(skill, tree), version);
      }
    }
  }

  #versionTree(skill: string, version: string): Promise<ModelTree> {
    return readTree(join(this.#root, 'skill', 'baseline', agentId, skill, version));
  }

  async #compare(): Promise<void> {
    const layers = this.#layers ?? (await this.#open());
    for (const user of users) {
      const mine = this.#model.of(user);
      const listed = await layers.list({ userId: parseUserId(user), agentId });
      expect(listed.map(({ skillId, status }) => [skillId, status])).toEqual(
        [...mine]
          .filter(([, { tree }]) => tree)
          .map(([skill]) => [skill, this.#model.status(user, skill)])
          .sort(),
      );
      for (const [skill, { tree }] of mine) {
        if (!tree) continue;
        const seen: [string, string][] = [];
        for (const { path } of await layers.files(placeOf(user, skill))) {
          seen.push([path, (await layers.readText(placeOf(user, skill), path)).text]);
        }
        expect(seen).toEqual([...tree.files].sort(([a], [b]) => (a < b ? -1 : 1)));
        const execId = newExecId();
        this.#begun.add(execId);
        const { target } = await layers.beginExec(placeOf(user, skill), execId);
        expect(canonical(await readTree(target))).toBe(canonical(tree));
        await layers.abandonExec(execId);
      }
    }
    for (const skill of this.#model.versions.keys()) {
      const versions = await layers.versions(placeOf('u1', skill));
      expect(versions).toHaveLength(this.#model.versions.get(skill)?.length ?? 0);
      for (const { version } of versions) {
        expect(canonical(await this.#versionTree(skill, version))).toBe(
          this.#versions.get(`${skill}/${version}`),
        );
      }
    }
  }
}

const versionKey = (skill: string, tree: ModelTree) => `${skill}=${canonical(tree)}`;

function conflictsOf(result: unknown): unknown {
  const { conflicts } = result as { conflicts: { path: string }[] };
  return conflicts.map(({ path }) => path);
}

async function runStep(folder: string, step: ProgramStep): Promise<void> {
  const path = join(folder, step.path);
  if (step.do === 'remove') await rm(path, { recursive: true });
  if (step.do === 'mkdir') await mkdir(path, { recursive: true });
  if (step.do === 'write') {
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, step.content);
  }
}

async function readTree(folder: string): Promise<ModelTree> {
  const files = new Map<string, string>();
  const folders = new Set<string>();
  for (const name of await readdir(folder, { recursive: true })) {
    if ((await stat(join(folder, name))).isDirectory()) folders.add(name);
    else files.set(name, await readFile(join(folder, name), 'utf8'));
  }
  return { files, folders };
}
