import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  parseAgentId,
  parseLayeredSkillId,
  parseUserId,
  type ExecRecord,
  type ExecutedCommand,
} from '@secbox/contracts';
import type { ServiceOptions } from '@secbox/core-api';
import { SkillLayers, type SkillPlace } from '@secbox/skill-layers';
import { sandboxOwner } from '@secbox/workspace';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { zipOf } from '../../packages/skill-layers/src/testing/zip-of.js';

export const at = (user: string, skill = 'weather', agent = 'agent001'): SkillPlace => ({
  userId: parseUserId(user),
  agentId: parseAgentId(agent),
  skillId: parseLayeredSkillId(skill),
});

export interface Executed {
  readonly http: number;
  readonly body: {
    readonly status: string;
    readonly data: ExecutedCommand & { readonly code?: string; readonly message?: string };
  };
}

/** A service with skills in it, and short ways to run commands in them. */
export interface LayeredService extends RunningService {
  /** Where the skills lie. */
  readonly product: string;
  execute(place: SkillPlace, command: string, args?: unknown, more?: RequestOptions): Promise<Executed>;
  inSandbox(place: SkillPlace, command: string, args?: unknown): Promise<Executed>;
  row(execId: string): Promise<ExecRecord>;
}

interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
}

export type SkillFiles = Readonly<Record<string, string>>;

/** Puts skills into the baseline of an agent of a data folder that no server has. */
export async function seedBaseline(
  dataDir: string,
  skills: Readonly<Record<string, SkillFiles>>,
  agent?: string,
): Promise<string> {
  const product = join(dataDir, 'workspace', 'product');
  await mkdir(product, { recursive: true });
  const layers = await SkillLayers.open({ root: product, owner: sandboxOwner });
  for (const [name, files] of Object.entries(skills)) {
    const archive = join(dataDir, 'seed.zip');
    await writeFile(archive, zipOf(name, files));
    const place = at('author', name, agent);
    await layers.upload(place, archive, { archiveName: 'seed.zip', scope: 'baseline', by: 'author' });
    await rm(archive);
  }
  await layers.close();
  return product;
}

/** Without an environment it goes without the mounts helper: execs get copies. */
export async function startLayeredService(
  skills: Readonly<Record<string, SkillFiles>>,
  environment: Record<string, string> = {},
  options?: Pick<ServiceOptions, 'now'>,
): Promise<LayeredService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'secbox-'));
  await seedBaseline(dataDir, skills);
  return layeredServiceOn(dataDir, environment, options);
}

/** On a data folder that has skills already. */
export async function layeredServiceOn(
  dataDir: string,
  environment: Record<string, string> = {},
  options?: Pick<ServiceOptions, 'now'>,
): Promise<LayeredService> {
  const service = await startRunningService(environment, dataDir, options);
  const post = async (path: string, args: unknown, more: RequestOptions = {}): Promise<Executed> => {
    const response = await fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...more.headers },
      body: JSON.stringify(args),
    });
    return { http: response.status, body: (await response.json()) as Executed['body'] };
  };
  const query = (command: string) => `execute?command=${encodeURIComponent(command)}`;
  return {
    ...service,
    product: join(dataDir, 'workspace', 'product'),
    execute: ({ userId, agentId, skillId }, command, args = [], more) =>
      post(`/v1/skills/${userId}/${agentId}/${encodeURIComponent(skillId)}/${query(command)}`, args, more),
    inSandbox: ({ userId, agentId }, command, args = []) =>
      post(`/v1/sandbox/${userId}/${agentId}/${query(command)}`, args),
    row: async (execId) =>
      (await (await fetch(`${service.url}/sandbox/execs/${execId}`)).json()) as ExecRecord,
  };
}

/** An exec is cleared up after behind its answer: waits for that, as long as the test's own time limit. */
export async function becomesEmpty(folder: string): Promise<void> {
  while ((await readdir(folder)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}
