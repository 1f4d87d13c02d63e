import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { SecboxClient } from '@secbox/client';
import { mountsBelow } from '../../docker/setup/unmount.mjs';
import { containersOf } from '../exec/engine-view.js';
import { startServer } from '../lifecycle/server-process.js';
import { pooled } from '../pool/pooled.js';
import { at, becomesEmpty, layeredServiceOn, seedBaseline } from './layered-service.js';

let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>> | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-killed-'));
  await seedBaseline(dataDir, { weather: { 'SKILL.md': '# W\n', 'main.py': 'print(1)\n' } });
});
afterEach(async () => {
  await server?.end('SIGKILL');
  await rm(dataDir, { recursive: true, force: true });
});

test.each([
  ['cold, by copies', {}],
  ['warm, over layers', pooled(1)],
] as const)(
  'kill -9 of the server in the middle of an exec of a skill, %s: nothing of it is kept, mounted or left (case 63)',
  async (_mode, environment) => {
    server = await startServer({ SECBOX_DATA_DIR: dataDir, ...environment });
    const execute = `${server.url}/v1/skills/u1/agent001/weather/execute?command=bash&wait=false`;
    const post = (script: string) =>
      fetch(execute, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(['-c', script]),
      });
    const begun = await post(
      'echo half > half; rm main.py; echo x > /workspace/artifacts/x; echo begun; sleep 240',
    );
    expect(begun.status).toBe(202);
    const { exec_id: execId } = ((await begun.json()) as { data: { exec_id: string } }).data;
    for await (const event of new SecboxClient({ url: server.url }).execs.events(execId))
      if (event.type === 'stdout') break;
    await server.end('SIGKILL');

    const next = await layeredServiceOn(dataDir, environment);
    try {
      expect((await containersOf(dataDir)).filter(({ Labels }) => Labels['secbox'] === 'exec')).toEqual([]);
      expect(await next.row(execId)).toMatchObject({
        status: 'error',
        error_reason: expect.stringMatching(/^interrupted/) as unknown,
        user_id: 'u1',
        effects: null,
        stdout: 'begun\n',
        artifacts: [{ path: 'x' }],
      });
      expect(await readdir(join(next.product, 'skill', '.execs'))).toEqual([]);
      const seen = await next.execute(at('u1'), 'bash', ['-c', 'ls; cat main.py; echo more > more']);
      expect(seen.body.data).toMatchObject({
        stdout: 'SKILL.md\nmain.py\nprint(1)\n',
        skill_source: 'baseline',
        effects: { kept: true, added: [{ path: 'more' }], deleted: [] },
      });
      const [project = ''] = (await readdir(join(dataDir, 'workspace', 'projects'))).filter((name) =>
        name.startsWith('layered-'),
      );
      await becomesEmpty(join(dataDir, 'workspace', 'projects', project, 'work'));
    } finally {
      await next.stop();
    }
    expect(mountsBelow(dataDir)).toEqual([]);
  },
);
