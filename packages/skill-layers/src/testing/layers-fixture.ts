import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newExecId, parseAgentId, parseLayeredSkillId, parseUserId } from '@secbox/contracts';
import type { ExecEffects } from '../exec/exec-layers.js';
import type { SkillLayersOptions } from '../layers-options.js';
import { SkillLayers } from '../skill-layers.js';
import type { SkillPlace } from '../store/layer-paths.js';
import { zipOf } from './zip-of.js';

export const userOf = (user: string, agent = 'agent') => ({
  userId: parseUserId(user),
  agentId: parseAgentId(agent),
});
export const at = (user: string, skill = 'weather', agent = 'agent'): SkillPlace => ({
  ...userOf(user, agent),
  skillId: parseLayeredSkillId(skill),
});

/** Layers in a folder of their own, with short ways to do what tests do. */
export class LayersFixture {
  private constructor(
    readonly root: string,
    public layers: SkillLayers,
    readonly options: Omit<SkillLayersOptions, 'root'>,
  ) {}

  static async make(options: Omit<SkillLayersOptions, 'root'> = {}): Promise<LayersFixture> {
    const root = await mkdtemp(join(tmpdir(), 'secbox-layers-'));
    return new LayersFixture(root, await SkillLayers.open({ root, ...options }), options);
  }

  async remove(): Promise<void> {
    await this.layers.close();
    await rm(this.root, { recursive: true });
  }

  /** As another process would find it. */
  async reopen(options: Omit<SkillLayersOptions, 'root'> = this.options): Promise<SkillLayers> {
    this.layers = await SkillLayers.open({ root: this.root, ...options });
    return this.layers;
  }

  async upload(
    scope: 'baseline' | 'overlay',
    files: Readonly<Record<string, string | Buffer>>,
    place = at('author'),
  ): Promise<void> {
    const archive = join(this.root, 'upload.zip');
    await writeFile(archive, zipOf(place.skillId, files));
    await this.layers.upload(place, archive, { archiveName: 'upload.zip', scope, by: place.userId });
    await rm(archive);
  }

  async contents(place: SkillPlace): Promise<Record<string, string>> {
    const files: Record<string, string> = {};
    for (const { path } of await this.layers.files(place)) {
      files[path] = (await this.layers.readText(place, path)).text;
    }
    return files;
  }

  async exec(place: SkillPlace, program: (folder: string) => Promise<unknown>): Promise<ExecEffects> {
    const execId = newExecId();
    const { target } = await this.layers.beginExec(place, execId);
    await program(target);
    return this.layers.commitExec(execId);
  }

  async inRoot(...path: string[]): Promise<string[]> {
    return (await readdir(join(this.root, ...path))).sort();
  }

  read(...path: string[]): Promise<string> {
    return readFile(join(this.root, ...path), 'utf8');
  }
}
