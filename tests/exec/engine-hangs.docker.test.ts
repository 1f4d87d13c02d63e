import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../lifecycle/server-process.js';
import { poolHas, pooled } from '../pool/pooled.js';
import { containersOf } from './engine-view.js';
import { startRunningService } from './running-service.js';
import { startTroubledEngine, type TroubledEngine } from './troubled-engine.js';

const graceMs = 1000;
const list = /^GET [^ ]*\/containers\/json/;

describe('an engine that takes calls and answers no more', () => {
  let engine: TroubledEngine;
  let dataDir: string;
  let server: Awaited<ReturnType<typeof startServer>>;
  beforeEach(async () => {
    engine = await startTroubledEngine();
    dataDir = await mkdtemp(join(tmpdir(), 'secbox-hangs-'));
    server = await startServer({
      SECBOX_DATA_DIR: dataDir,
      SECBOX_SHUTDOWN_GRACE_MS: String(graceMs),
      DOCKER_HOST: engine.dockerHost,
      ...pooled(1),
    });
  });
  afterEach(async () => {
    await server.end('SIGKILL');
    await engine.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function begunExec(): Promise<string> {
    const response = await fetch(`${server.url}/sandbox/execs?wait=false`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: 'p',
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'echo begun; sleep 250'] },
      }),
    });
    const { exec_id: execId } = (await response.json()) as ExecAnswer;
    const stdout = async () => (await fetch(`${server.url}/sandbox/execs/${execId}/stdout`)).text();
    while ((await stdout()) !== 'begun\n') await new Promise((done) => setTimeout(done, 20));
    return execId;
  }

  test.each([
    // What runs is ended all the same.
    ['lists', list, 20_000, 'interrupted: the server was stopped'],
    // Each step is given up in its time, and the next server ends what may still run.
    ['anything', /^/, 60_000, 'interrupted: the server ended while this exec was under way'],
  ])(
    'keeps no server from stopping in the middle of a sweep (%s)',
    async (_what, request, marginMs, reason) => {
      await poolHas(server.url, 1);
      const execId = await begunExec();
      await poolHas(server.url, 1);
      engine.swallow(request);
      await engine.swallowed(list);

      const asked = performance.now();
      expect(await server.end('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(performance.now() - asked).toBeLessThan(graceMs + marginMs);

      const next = await startRunningService({}, dataDir);
      try {
        expect(await containersOf(dataDir)).toEqual([]);
        const answer = await fetch(`${next.url}/sandbox/execs/${execId}`);
        expect(await answer.json()).toMatchObject({
          status: 'error',
          error_reason: reason,
          stdout: 'begun\n',
        });
      } finally {
        await next.stop();
      }
    },
    180_000,
  );
});
