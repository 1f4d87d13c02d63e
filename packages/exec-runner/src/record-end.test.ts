import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newExecId, SecboxError, type EndedExec } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, Workspace } from '@secbox/workspace';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { withoutResult } from './exec-outcome.js';
import { recordEnd, spooledEnd } from './record-end.js';

let folder: string;
let workspace: Workspace;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-end-'));
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  workspace = await Workspace.open({ paths });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const log = createLogger({
  level: 'error',
  format: 'json',
  destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
});
const finished: EndedExec = {
  ...withoutResult('error', 'for a test', new Date(0)),
  evidence: {
    inputs: [{ path: 'key', secret: true }],
    artifacts: [
      {
        path: 'a',
        kind: 'file',
        size: 1,
        sha256: 'f'.repeat(64),
        media_type: 'text/plain',
        dropped: null,
      },
    ],
  },
};

const abandon = new AbortController().signal;

describe('the end of an exec', () => {
  test('that the database does not take is kept in the spool, and written when it does', async () => {
    const execId = newExecId();
    const spooled: unknown[] = [];
    let failures = 2;
    const finish = async () => {
      if (failures === 0) return;
      failures -= 1;
      spooled.push(await spooledEnd(workspace, execId));
      throw new SecboxError('database_unavailable', 'database is locked');
    };
    await recordEnd({ execId, finished, records: { finish }, workspace, log, abandon });
    expect(failures).toBe(0);
    expect(spooled).toEqual([undefined, finished]);
  });

  test('that neither the database nor the spool takes is tried again, on both', async () => {
    const execId = newExecId();
    const blocked = join(folder, 'workspace/spool', execId);
    await writeFile(blocked, '');
    const spooled: unknown[] = [];
    let failures = 3;
    const finish = async () => {
      if (failures === 0) return;
      failures -= 1;
      if (failures === 1) await rm(blocked);
      if (failures < 1) spooled.push(await spooledEnd(workspace, execId));
      throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    };
    await recordEnd({ execId, finished, records: { finish }, workspace, log, abandon });
    expect(spooled).toEqual([finished]);
  });

  test('is left in the spool to the next server when nobody can wait any longer', async () => {
    const execId = newExecId();
    const leaving = new AbortController();
    const finish = () => {
      leaving.abort();
      return Promise.reject(Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' }));
    };
    const end = recordEnd({
      execId,
      finished,
      records: { finish },
      workspace,
      log,
      abandon: leaving.signal,
    });
    expect(await end).toBe('spooled');
    expect(await spooledEnd(workspace, execId)).toEqual(finished);
  });

  test('is left as it is when nobody can wait any longer and neither takes it', async () => {
    const execId = newExecId();
    await writeFile(join(folder, 'workspace/spool', execId), '');
    const leaving = new AbortController();
    const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
    let tries = 0;
    const finish = () => {
      tries += 1;
      leaving.abort();
      // Else this would go on for ever, and the test with it.
      return tries < 10 ? Promise.reject(full) : Promise.resolve();
    };
    const end = { execId, finished, records: { finish }, workspace, log, abandon: leaving.signal };
    await expect(recordEnd(end)).rejects.toBe(full);
    expect(tries).toBe(2);
    await expect(recordEnd(end)).rejects.toBe(full);
    expect(tries).toBe(3);
  });

  test('that the store refuses is not tried again', async () => {
    const refusal = new SecboxError('internal_error', 'it is over already');
    const finish = () => Promise.reject(refusal);
    await expect(
      recordEnd({ execId: newExecId(), finished, records: { finish }, workspace, log, abandon }),
    ).rejects.toBe(refusal);
  });

  test.each(['', '{"status":', '{"status":"running"}', 'null', '[]'])(
    'that is spooled as %j is not known',
    async (text) => {
      const execId = newExecId();
      await workspace.writeSpooled(execId, 'end.json', text, { durable: true });
      expect(await spooledEnd(workspace, execId)).toBeUndefined();
    },
  );

  test('that was never spooled is not known', async () => {
    expect(await spooledEnd(workspace, newExecId())).toBeUndefined();
  });
});
