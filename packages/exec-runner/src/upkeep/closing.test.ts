import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DockerodeEngine } from '@secbox/container-engine';
import { newExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { Reconciler } from './reconciler.js';
import { Sweep, type SweepOptions } from './sweep.js';

const dataDir = '/data';
const containers = [{ Id: 'c', State: 'running', Labels: { secbox: 'exec', 'secbox.exec_id': newExecId() } }];

describe('while an engine takes calls and answers no more', () => {
  let folder: string;
  let server: Server;
  let engine: DockerodeEngine;
  let lists: boolean;
  let lines: string[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secbox-silent-'));
    const socketPath = join(folder, 's');
    lists = false;
    server = createServer(({ url }, response) => {
      if (lists && url?.includes('/containers/json')) response.end(JSON.stringify(containers));
    }).listen(socketPath);
    engine = new DockerodeEngine({ socketPath }, { seccompProfile: '{}' });
    lines = [];
  });
  afterEach(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true });
  });

  const asked = async (call: string) => {
    for (;;) {
      const [{ method, url }] = (await once(server, 'request')) as [{ method: string; url: string }];
      if (`${method} ${url}`.startsWith(call)) return;
    }
  };
  const parts = () => ({
    engine,
    dataDir,
    logger: createLogger({
      level: 'warn',
      format: 'json',
      destination: new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          lines.push(chunk.toString());
          done();
        },
      }),
    }),
  });
  const sweepOf = () => {
    const nothing = () => Promise.resolve([]);
    const options = {
      ...parts(),
      account: { found: () => Promise.resolve() },
      workspace: { spooled: nothing },
      records: { unfinished: nothing },
      mounts: { unheld: nothing, sweepSlots: () => Promise.resolve(0) },
      isUnderway: () => false,
      isPooled: () => false,
      everyMs: 10,
    };
    return new Sweep(options as unknown as SweepOptions);
  };

  test.each([
    ['a list', false, 'GET /containers/json'],
    ['a removal', true, 'DELETE /containers/c'],
  ])(
    'a sweep that waits for %s can be closed',
    async (_what, answersLists, call) => {
      lists = answersLists;
      const sweep = sweepOf();
      const waiting = asked(call);
      sweep.begin();
      await waiting;
      await sweep.close();
      expect(sweep.strays()).toMatchObject({ containers: 0 });
      expect(lines).toEqual([]);
    },
    5000,
  );

  test('an account that waits to be told of starts can be closed', async () => {
    const records = { find: () => Promise.resolve(undefined) };
    const reconciler = new Reconciler({ ...parts(), records, isPooled: () => false });
    const waiting = asked('GET /events');
    reconciler.begin();
    await waiting;
    await reconciler.close();
    expect(reconciler.account()).toMatchObject({ listening: false, started: 0 });
  }, 5000);
});
