import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  defaultTenant,
  neverRan,
  newExecId,
  parseProjectId,
  type EndedExec,
  type ExecId,
  type ExecRecord,
} from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import {
  createPathAdapter,
  Directory,
  publishResults,
  within,
  Workspace,
  type ExecFolders,
} from '@secbox/workspace';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { publishInterrupted } from './publish-interrupted.js';
import { endInterrupted } from './recover.js';

const reason = 'interrupted: for a test';
const forged = JSON.stringify({ status: 'succeeded', inputs: [] });
const logger = createLogger({
  level: 'error',
  format: 'json',
  destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
});

let folder: string;
let workspace: Workspace;
let record: ExecRecord;
let folders: ExecFolders;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-interrupted-'));
  const paths = createPathAdapter({ mode: 'linux', roots: { workspace_root: join(folder, 'workspace') } });
  workspace = await Workspace.open({ paths });
});
afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

/** As a server that was killed leaves it: a row, output, an artifact, and what the program planted. */
async function leave(): Promise<void> {
  const [execId, projectId] = [newExecId(), parseProjectId('p')];
  const values = { max_stdout_bytes: 3, max_stderr_bytes: 100, max_artifacts_bytes_total: 1_000_000 };
  record = {
    exec_id: execId,
    tenant: defaultTenant,
    project_id: projectId,
    status: 'running',
    started_at: new Date(0).toISOString(),
    skill_id: null,
    user_id: null,
    skill_version: null,
    files_removed_at: null,
    policy_snapshot: { values },
  } as unknown as ExecRecord;
  folders = workspace.prepare({ tenant: defaultTenant, projectId, execId });
  await writeFile(join(folders.spool, 'stdout.txt'), 'out');
  await writeFile(join(folders.spool, 'stderr.txt'), 'err');
  await writeFile(join(folders.artifacts, 'x'), 'x');
  await writeFile(join(folders.artifacts, 'meta.json'), forged);
}

const publish = () => publishInterrupted(workspace, record, reason);
const published = (name: string) => readFile(join(folders.artifacts, name), 'utf8');
const interrupted = {
  status: 'error',
  error_reason: reason,
  exit_code: null,
  stdout_truncated: true,
  stderr_truncated: false,
  evidence: {
    artifacts: [
      { path: 'stdout.txt', size: 3 },
      { path: 'stderr.txt', size: 3 },
      { path: 'meta.json.from-exec', size: forged.length },
      { path: 'x', size: 1 },
    ],
  },
};

describe('what an interrupted exec printed and left', () => {
  test('is published with the reason, however often that is cut off, and no forged end is believed', async () => {
    let steps = 0;
    let left = Infinity;
    for (const name of ['rename', 'writeFile'] as const) {
      const { [name]: done } = Directory.prototype as unknown as Record<
        string,
        (...args: unknown[]) => unknown
      >;
      jest.spyOn(Directory.prototype, name).mockImplementation(function step(this: Directory, ...args) {
        if (left === 0) throw new Error('killed');
        left -= 1;
        steps += 1;
        return done?.apply(this, args) as never;
      });
    }
    await leave();
    expect(await publish()).toMatchObject(interrupted);
    const all = steps;
    expect(all).toBeGreaterThan(6);
    for (let cut = 0; cut < all; cut += 1) {
      await leave();
      left = cut;
      await expect(publish()).rejects.toThrow('killed');
      left = Infinity;
      const ended = await publish();
      expect(ended).toMatchObject(interrupted);
      expect(await publish()).toEqual(ended);
      expect(await published('stdout.txt')).toBe('out');
      expect(JSON.parse(await published('meta.json'))).toMatchObject({
        exec_id: record.exec_id,
        status: 'error',
      });
      expect((await readdir(folders.artifacts)).sort()).toEqual([
        ...['manifest.json', 'meta.json', 'meta.json.from-exec', 'stderr.txt', 'stdout.txt', 'x'],
      ]);
      expect(await readdir(folders.spool)).toEqual([]);
    }
  });

  test('is that of an exec that had ended, once its documents were whole', async () => {
    await leave();
    await rm(join(folders.artifacts, 'meta.json'));
    const output = { stdout: { size: 3, sha256: 'a' }, stderr: { size: 3, sha256: 'b' } };
    const finished = { ...neverRan('failed', '', new Date(1)), error_reason: null, exit_code: 3 };
    const documents = {
      manifest: { output, files: [], others: [], dropped: [] },
      meta: { exec_id: record.exec_id, ...finished, inputs: [{ path: 'i', size: 1, sha256: 'c' }] },
    };
    jest.spyOn(Directory.prototype, 'rename').mockImplementationOnce(() => {
      throw new Error('killed');
    });
    const publishing = within(Directory.open(folders.spool), (spool) =>
      within(Directory.open(folders.artifacts), (artifacts) => publishResults(spool, artifacts, documents)),
    );
    await expect(publishing).rejects.toThrow('killed');
    const ended = await publish();
    expect(ended).toMatchObject({ ...finished, evidence: { inputs: [{ path: 'i' }] } });
    expect(ended.evidence.artifacts.map(({ path }) => path)).toEqual(['stdout.txt', 'stderr.txt']);
    expect(ended).not.toHaveProperty('exec_id');
  });

  test.each(['spool', 'artifacts'] as const)(
    'is told to be lost where its %s folder is gone',
    async (name) => {
      await leave();
      await rm(folders[name], { recursive: true });
      const ended: EndedExec[] = [];
      const finish = (_execId: ExecId, end: EndedExec) => Promise.resolve(void ended.push(end));
      const records = { finish } as unknown as Parameters<typeof endInterrupted>[0]['records'];
      expect(await endInterrupted({ workspace, records, logger }, record, reason)).toBe(true);
      expect(ended).toMatchObject([
        {
          status: 'error',
          error_reason: `${reason}; its output and artifacts could not be published`,
          evidence: { inputs: [], artifacts: [] },
        },
      ]);
    },
  );
});
