import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ExecAnswer, InvocationAnswer } from '@secbox/contracts';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { containersOf, inspectContainer } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { invoke } from '../skills/invoke.js';
import { pooled, pooledContainers, poolHas } from './pooled.js';

const size = 1;
/** What work is: written, or why not. */
const script = `echo a 2>&1 >> /workspace/work/x | grep -o 'Read-only file system' || cat /workspace/work/x`;

describe('skills where containers are started ahead', () => {
  const at = { skills: '' };
  let service: RunningService;
  beforeAll(async () => {
    at.skills = await mkdtemp(join(tmpdir(), 'skills-'));
    await putSkill('look.only', { image: 'sandbox', write: [] });
    await putSkill('write.work', { image: 'sandbox', write: ['work/**'] });
    await putSkill('other.image', { image: 'data', write: [] });
    service = await startRunningService({ ...pooled(size), SECBOX_SKILLS_DIR: at.skills });
  });
  afterAll(async () => {
    await service.close();
    expect(await containersOf(service.dataDir)).toEqual([]);
    expect(mountsBelow(service.dataDir)).toEqual([]);
    await rm(at.skills, { recursive: true });
  });

  async function putSkill(id: string, { image, write }: { image: string; write: string[] }): Promise<void> {
    await mkdir(join(at.skills, id));
    await writeFile(join(at.skills, id, 'run.sh'), script);
    const manifest = {
      schema_version: 1,
      id,
      name: id,
      description: 'Of a test.',
      interface: { inputs: { type: 'object' }, outputs: { type: 'string' } },
      runtime: { kind: 'docker', image, entrypoint: ['bash', './run.sh'] },
      permissions: { fs: { read: ['work/**'], write }, net: { mode: 'none' } },
      limits: { memory_mb: 128, timeout_ms: 60_000 },
    };
    await writeFile(join(at.skills, id, 'manifest.json'), JSON.stringify(manifest));
  }

  test.each([
    ['look.only', 'warm', 'Read-only file system\n'],
    ['write.work', 'warm', 'a\n'],
    ['other.image', 'cold', 'Read-only file system\n'],
  ])('%s starts %s', async (id, mode, output) => {
    await poolHas(service.url, size);
    const { body } = await invoke(service.url, id, { project_id: 'p' });
    expect(body).toMatchObject({ status: 'succeeded', output });
    const { exec_url: url } = body as InvocationAnswer;
    const exec = (await (await fetch(`${service.url}${url}`)).json()) as ExecAnswer;
    expect(exec.start_mode).toBe(mode);
  });

  test('what waits has the limits of the exec before, as the next one is most often like it', async () => {
    /** Of the one that waits, when the one before it is gone. */
    const memory = async () => {
      for (;;) {
        await poolHas(service.url, size);
        const [container, ...others] = await pooledContainers(service.dataDir);
        if (!container || others.length > 0) continue;
        const { HostConfig } = (await inspectContainer(container.Id)) as { HostConfig: { Memory: number } };
        return HostConfig.Memory;
      }
    };
    await memory();
    await invoke(service.url, 'look.only', { project_id: 'p' });
    expect(await memory()).toBe(128 * 1024 ** 2);
    // One that asks for more than is usual says nothing about those that wait.
    const answer = await service.shell('true', { policy_overrides: { memory_mb: 2048 } });
    expect(answer).toMatchObject({ status: 'succeeded', start_mode: 'warm' });
    expect(await memory()).toBe(1024 ** 3);
  });
});
