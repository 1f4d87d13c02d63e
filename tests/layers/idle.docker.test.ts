import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { layeredProject } from '@secbox/contracts';
import { pooled } from '../pool/pooled.js';
import { at, layeredServiceOn, startLayeredService, type LayeredService } from './layered-service.js';

const hourMs = 3_600_000;
let now = new Date();
let service: LayeredService;
beforeAll(async () => {
  const skills = { weather: { 'SKILL.md': '# W\n' } };
  service = await startLayeredService(skills, pooled(0), { now: () => now });
}, 60_000);
afterAll(() => service.close());

const disks = async () =>
  (await readdir(join(service.dataDir, 'workspace/disks'))).filter((name) => name.startsWith('layered-'));
const diskOf = (user: string) => layeredProject('skill', at(user).userId, at(user).agentId);

test('an idle user’s disk goes with the user, nobody else’s does, and what was made comes back from the trash', async () => {
  const write = ['-c', 'open("made", "w").write("mine")'];
  for (const user of ['idle', 'busy']) {
    const { body } = await service.execute(at(user), 'python3', write);
    expect(body.data.effects).toMatchObject({ kept: true });
    expect((await service.inSandbox(at(user), 'python3', write)).body.data.exit_code).toBe(0);
    now = new Date(now.getTime() + 20 * hourMs);
  }
  expect((await disks()).sort()).toEqual([diskOf('idle'), diskOf('busy')].sort());
  await service.stop();
  service = await layeredServiceOn(service.dataDir, pooled(0), { now: () => now });
  while ((await disks()).length > 1) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await disks()).toEqual([diskOf('busy')]);
  const trash = `${service.url}/v1/skills/idle/agent001/trash`;
  const { data } = (await (await fetch(trash)).json()) as { data: { id: string }[] };
  expect(data).toHaveLength(2);
  for (const { id } of data)
    expect((await fetch(`${trash}/${id}/restore`, { method: 'POST' })).status).toBe(200);
  for (const user of ['idle', 'busy']) {
    expect((await service.execute(at(user), 'cat', ['made'])).body.data.stdout).toBe('mine');
    expect((await service.inSandbox(at(user), 'cat', ['made'])).body.data.stdout).toBe('mine');
  }
  expect((await disks()).sort()).toEqual([diskOf('idle'), diskOf('busy')].sort());
}, 120_000);
