import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { mkdtemp, rm } from 'node:fs/promises';
import { constants, getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './server-process.js';

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-precedence-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

test('the server comes before what it runs, which has none of its precedence', async () => {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir });
  try {
    expect(getPriority(server.child.pid)).toBe(constants.priority.PRIORITY_ABOVE_NORMAL);
    const response = await fetch(`${server.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: 'p',
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'nice'] },
      }),
    });
    expect((await response.json()) as ExecAnswer).toMatchObject({ stdout: '0\n' });
  } finally {
    await server.end('SIGTERM');
  }
});
