import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { createHash } from 'node:crypto';
import { access, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountedBelow } from '../disk/host-view.js';
import { startRunningService } from '../exec/running-service.js';
import { startServer } from '../lifecycle/server-process.js';
import { apiOf } from './api.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-retention-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

const workspace = (...path: string[]) => join(dataDir, 'workspace', ...path);
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
const contentOf = (text: string) => {
  const hash = createHash('sha256').update(text).digest('hex');
  return workspace('contents', hash.slice(0, 2), hash);
};
const inputs = [
  { path: 'plain', content: 'plain' },
  { path: 'secret', content: 'canary', secret: true },
];
/** Long to remove, so that there is something to be cut off. */
const many = 'cd /workspace/artifacts; for n in $(seq 4000); do echo $n > $n; done; echo work > ../work/work';

async function clearing(): Promise<void> {
  while ((await readdir(workspace('removed'))).length === 0);
}

async function ended(api: ReturnType<typeof apiOf>, execId: string): Promise<ExecAnswer> {
  for (;;) {
    const answer = await api.exec(execId);
    if (answer.ended_at !== null) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test.each([5, 40, 'clearing'] as const)(
  'kill -9 of the server %p (ms) into a deletion: the next one has all of the project or nothing of it',
  async (moment) => {
    const server = await startServer({ SECBOX_DATA_DIR: dataDir });
    const api = apiOf(server);
    const execId = await api.submit('p', many, inputs);
    expect(await ended(api, execId)).toMatchObject({ status: 'succeeded' });
    const removing = api.remove('p').then(
      ({ status }) => expect(status).toBe(200),
      () => undefined,
    );
    if (moment === 'clearing') await clearing();
    else await new Promise((resolve) => setTimeout(resolve, moment));
    await server.end('SIGKILL');
    await removing;

    const next = await startRunningService({}, dataDir);
    try {
      const again = apiOf(next);
      while (!(await again.run()).complete);
      const row = await again.exec(execId);
      const removed = row.files_removed_at !== null;
      if (moment === 'clearing') expect(removed).toBe(true);
      expect(row.files_removed_reason).toBe(removed ? 'deleted' : null);
      expect(await exists(workspace('projects/p'))).toBe(!removed);
      expect(await exists(row.artifacts_dir)).toBe(!removed);
      expect(await exists(contentOf('plain'))).toBe(!removed);
      expect(await readdir(workspace('removed'))).toEqual([]);
      const download = await again.get(`/sandbox/execs/${execId}/artifacts/1`);
      expect(download.status).toBe(removed ? 410 : 200);
      expect((await again.remove('p')).status).toBe(removed ? 404 : 200);
      const fresh = await next.shell('ls -A . /workspace/inputs', { project_id: 'p' });
      expect(fresh.stdout).toBe('.:\n\n/workspace/inputs:\n');
    } finally {
      await next.stop();
    }
    expect(mountedBelow(dataDir)).toEqual([]);
  },
);
