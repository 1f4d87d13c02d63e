import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SecboxClient } from '@secbox/client';
import type { InvocationAnswer } from '@secbox/contracts';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { containersOf } from '../exec/engine-view.js';
import { startRunningService } from '../exec/running-service.js';
import { pathsIn } from '../lifecycle/data-folder.js';
import { startServer } from '../lifecycle/server-process.js';
import { writeSkill } from '../mcp/write-skill.js';
import { pooled } from '../pool/pooled.js';
import { invoke } from './invoke.js';

let dataDir: string;
let skills: string;
let server: Awaited<ReturnType<typeof startServer>> | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-killed-'));
  skills = await mkdtemp(join(tmpdir(), 'skills-'));
  const inputs = { type: 'object', properties: { file: { 'x-secbox': 'file' } } };
  await writeSkill(skills, { id: 'test.long', script, inputs });
});
afterEach(async () => {
  await server?.end('SIGKILL');
  await rm(dataDir, { recursive: true, force: true });
  await rm(skills, { recursive: true });
});

const marker = 'left-in-the-middle';
const script = `echo ${marker} > /workspace/artifacts/there; echo begun; sleep 240`;

/** Until the program of the invocation is in the middle of its work. */
async function begun(url: string, execId: string): Promise<void> {
  for await (const event of new SecboxClient({ url }).execs.events(execId))
    if (event.type === 'stdout') return;
  throw new Error('It ended before it had begun.');
}

/** Every path in the data folder whose name says that it is of this exec. */
async function pathsOf(execId: string): Promise<string[]> {
  return (await pathsIn(dataDir)).filter((path) => path.includes(execId));
}

test.each([
  ['cold', {}],
  ['warm', pooled(1)],
] as const)(
  'kill -9 in the middle of an invocation without a project, %s: nothing of it is left but its row and artifacts',
  async (_mode, environment) => {
    server = await startServer({ SECBOX_DATA_DIR: dataDir, SECBOX_SKILLS_DIR: skills, ...environment });
    const inputs = { file: { name: 'sent.txt', content: marker } };
    const invoked = await invoke(server.url, 'test.long', { inputs }, { prefer: 'respond-async' });
    expect(invoked).toMatchObject({ status: 202 });
    const { exec_id: execId, project_id: project } = invoked.body as InvocationAnswer;
    expect(project).toBe(`invocation-${execId}`);
    await begun(server.url, execId);
    await server.end('SIGKILL');

    const next = await startRunningService({ SECBOX_SKILLS_DIR: skills }, dataDir);
    try {
      // The server that came up may still be trying what its own containers see.
      const left = (await containersOf(dataDir)).filter(({ Labels }) => Labels['secbox'] !== 'self-test');
      expect(left).toEqual([]);
      const response = await fetch(`${next.url}/skills/test.long/execs/${execId}`);
      expect(await response.json()).toMatchObject({
        status: 'error',
        output: null,
        error_reason: expect.stringMatching(/^interrupted/) as unknown,
      });
      const kept = await pathsOf(execId);
      expect(kept.filter((path) => !path.startsWith(`workspace/projects/${project}/artifacts`))).toEqual([
        `workspace/projects/${project}`,
      ]);
      expect((await next.shell('ls /workspace/inputs /workspace/work')).stdout).not.toContain(execId);
    } finally {
      await next.stop();
    }
    expect(mountsBelow(dataDir)).toEqual([]);
    expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
  },
);
