import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  defaultTenant,
  newExecId,
  parseProjectId,
  type EndedExec,
  type ExecId,
  type ExecRecord,
} from '@secbox/contracts';
import { DockerodeEngine, labels, parseDockerHost } from '@secbox/container-engine';
import { openDatabase, type Database } from '@secbox/database';
import { DiskLimits, Reconciler, Sweep, type SweepOptions } from '@secbox/exec-runner';
import { createLogger } from '@secbox/logging';
import { createPathAdapter, Workspace } from '@secbox/workspace';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { mountsBelow, unmountBelow } from '../../docker/setup/unmount.mjs';
import { onLinuxAsRoot } from '../disk/host-view.js';
import { fillDisk, makeSmallDisk } from '../disk/small-disk.js';
import { containersOf, runningContainer } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { startServer } from './server-process.js';

const dockerHost = process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock';
const logger = createLogger({
  level: 'error',
  format: 'json',
  destination: new Writable({ write: (_chunk, _encoding, done) => done() }),
});
const asRoot = onLinuxAsRoot ? test : test.skip;
const api = () => new EngineApi({ host: dockerHost });

/** A container with our labels that nobody asked us for. */
async function plant(dataDir: string, execId: string | undefined, run: boolean): Promise<string> {
  const { Id } = (await api().call('POST', '/containers/create', {
    json: {
      Image: 'secbox/sandbox:latest',
      Entrypoint: ['sleep', '250'],
      HostConfig: { NetworkMode: 'none' },
      Labels: {
        [labels.ours]: 'exec',
        [labels.dataDir]: dataDir,
        ...(execId === undefined ? {} : { [labels.execId]: execId }),
      },
    },
  })) as { Id: string };
  if (run) await api().call('POST', `/containers/${Id}/start`);
  return Id;
}

/** As far as whoever ends it looks at it. */
function runningRecord(): ExecRecord {
  const values = { max_stdout_bytes: 1000, max_stderr_bytes: 1000, max_artifacts_bytes_total: 1_000_000 };
  return {
    exec_id: newExecId(),
    tenant: defaultTenant,
    project_id: parseProjectId('p'),
    status: 'running',
    skill_id: null,
    user_id: null,
    policy_snapshot: { values },
  } as unknown as ExecRecord;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe('the sweep', () => {
  let dataDir: string;
  let database: Database;
  let workspace: Workspace;
  let options: SweepOptions;
  let sweep: Sweep;
  let disk: DiskLimits;
  let account: Reconciler;
  const underway = new Set<string>();
  const pooled = new Set<string>();

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'secbox-sweep-'));
    database = await openDatabase(join(dataDir, 'secbox.db'));
    workspace = await Workspace.open({
      paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } }),
    });
    underway.clear();
    const engine = new DockerodeEngine(parseDockerHost(dockerHost), { seccompProfile: '{}' });
    const parts = { engine, workspace, logger, dataDir };
    disk = new DiskLimits({
      ...parts,
      imageReference: 'secbox/sandbox:latest',
      settings: () => ({ workBytes: 0, minFreeBytes: 0 }),
    });
    const records = { find: (execId: ExecId) => database.execs.find(execId) };
    account = new Reconciler({ ...parts, records, isPooled: () => false });
    options = {
      ...parts,
      account,
      records: database.execs,
      isUnderway: (execId) => underway.has(execId),
      isPooled: (id) => pooled.has(id),
      mounts: {
        unheld: () => disk.unheld(),
        unmount: (point) => disk.unmountUnheld(point),
        sweepSlots: () => Promise.resolve(0),
      },
    };
    sweep = new Sweep(options);
  });
  afterEach(async () => {
    for (const { Id } of await containersOf(dataDir)) {
      await api().call('DELETE', `/containers/${Id}`, { query: { force: '1' } });
    }
    await database.close();
    unmountBelow(dataDir);
    await rm(dataDir, { recursive: true });
  });

  test('removes what it finds twice, and what belongs to an exec that is under way never', async () => {
    const [stray, ours] = [newExecId(), newExecId()];
    underway.add(ours);
    const kept = await plant(dataDir, ours, true);
    await plant(dataDir, stray, true);
    for (const execId of [stray, ours]) await workspace.writeSpooled(execId, 'x', 'x', { durable: false });

    await sweep.sweep();
    expect(await containersOf(dataDir)).toHaveLength(2);
    expect(sweep.strays()).toMatchObject({ containers: 0, rows: 0, spools: 0 });
    await sweep.sweep();
    expect((await containersOf(dataDir)).map(({ Id }) => Id)).toEqual([kept]);
    expect(await workspace.spooled()).toEqual([ours]);
    expect(sweep.strays()).toMatchObject({ containers: 1, rows: 0, spools: 1 });
    // It ran, and nobody recorded it.
    expect(account.account()).toMatchObject({
      unaccounted_total: 1,
      unaccounted: [{ exec_id: stray, started_at: null, why: 'there is no row of its exec' }],
    });
  });

  asRoot('unmounts what nobody holds, once nothing uses it, and nothing of an exec under way', async () => {
    const [stray, ours] = [newExecId(), newExecId()];
    underway.add(ours);
    const pointOf = (execId: string) => join(workspace.root, execId, 'merged');
    for (const execId of [stray, ours]) {
      await mkdir(pointOf(execId), { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', 'none', pointOf(execId)]);
    }
    const user = await open(join(pointOf(stray), 'used'), 'w');
    for (let round = 0; round < 3; round += 1) await sweep.sweep();
    expect(sweep.strays().mounts).toBe(0);
    await user.close();
    await sweep.sweep();
    expect(mountsBelow(dataDir)).toEqual([pointOf(ours)]);
    expect(sweep.strays().mounts).toBe(1);
  });

  asRoot('leaves a row as it is while there is no room to publish what its exec left', async () => {
    const small = await makeSmallDisk(16 * 1024 ** 2);
    try {
      const roots = { workspace_root: join(small.path, 'workspace') };
      const tight = await Workspace.open({ paths: createPathAdapter({ mode: 'linux', roots }) });
      const record = runningRecord();
      const { exec_id: execId, project_id: projectId } = record;
      const { artifacts } = tight.prepare({ tenant: defaultTenant, projectId, execId });
      for (const name of ['stdout.txt', 'stderr.txt'])
        await tight.writeSpooled(execId, name, `${name} so far`, { durable: false });
      await writeFile(join(artifacts, 'x'), 'x');
      const ended: EndedExec[] = [];
      const records = {
        unfinished: () => Promise.resolve(ended.length === 0 ? [record] : []),
        find: () => Promise.resolve({ ...record, ended_at: ended[0]?.ended_at ?? null }),
        finish: (_id: string, end: EndedExec) => Promise.resolve(void ended.push(end)),
      } as unknown as SweepOptions['records'];
      sweep = new Sweep({ ...options, workspace: tight, records });
      const filler = join(small.path, 'filler');
      await fillDisk(filler);
      for (let round = 0; round < 3; round += 1) await sweep.sweep();
      expect([ended, sweep.strays().rows]).toEqual([[], 0]);
      expect(await tight.spooled()).toEqual([execId]);
      await rm(filler);
      await sweep.sweep();
      expect(ended).toMatchObject([
        {
          status: 'error',
          error_reason: 'interrupted: nobody was running this exec any more',
          evidence: { artifacts: [{ path: 'stdout.txt', size: 17 }, { path: 'stderr.txt' }, { path: 'x' }] },
        },
      ]);
      expect(await readFile(join(artifacts, 'stdout.txt'), 'utf8')).toBe('stdout.txt so far');
    } finally {
      await small.remove();
    }
  });

  test('gives a row that nobody is at its end, and never while its container may be alive', async () => {
    await database.close();
    const server = await startServer({ SECBOX_DATA_DIR: dataDir });
    const response = await fetch(`${server.url}/sandbox/execs?wait=false`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: 'p',
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'sleep 250'] },
      }),
    });
    const { exec_id: execId } = (await response.json()) as ExecRecord;
    await runningContainer(dataDir);
    await server.end('SIGKILL');
    database = await openDatabase(join(dataDir, 'secbox.db'));
    sweep = new Sweep({ ...options, records: database.execs });

    await sweep.sweep();
    expect(await containersOf(dataDir)).toHaveLength(1);
    expect(await database.execs.find(execId)).toMatchObject({ status: 'running', ended_at: null });
    for (let round = 0; round < 3; round += 1) await sweep.sweep();
    expect(await containersOf(dataDir)).toEqual([]);
    expect(await database.execs.find(execId)).toMatchObject({
      status: 'error',
      error_reason: 'interrupted: nobody was running this exec any more',
    });
    expect(await workspace.spooled()).toEqual([]);
    expect(sweep.strays()).toMatchObject({ containers: 1, rows: 1, spools: 1 });
  });
});

test('a container without a row that ran before the start is an alarm, one that never ran is not', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'secbox-account-'));
  const [ran, made] = [newExecId(), newExecId()];
  const container = await plant(dataDir, ran, true);
  await plant(dataDir, made, false);
  const service = await startRunningService({}, dataDir);
  try {
    const answer = await fetch(`${service.url}/sandbox/health`);
    expect([answer.status, await answer.json()]).toMatchObject([
      503,
      {
        strays: { containers: 2 },
        account: {
          unaccounted_total: 1,
          unaccounted: [{ container, exec_id: ran, started_at: null, why: 'there is no row of its exec' }],
        },
      },
    ]);
    expect(await containersOf(dataDir)).toEqual([]);
  } finally {
    await service.close();
  }
});

test('a server that stops leaves no container that an engine made without telling it', async () => {
  const service = await startRunningService();
  await plant(service.dataDir, newExecId(), false);
  await service.close();
  expect(await containersOf(service.dataDir)).toEqual([]);
});

describe('the account', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await startRunningService();
  });
  afterAll(() => service.close());

  const health = async () => {
    const answer = await fetch(`${service.url}/sandbox/health`);
    return { code: answer.status, body: (await answer.json()) as Health };
  };
  interface Health {
    readonly problems: readonly string[];
    readonly account: {
      readonly listening: boolean;
      readonly started: number;
      readonly unaccounted_total: number;
      readonly unaccounted: readonly Record<string, unknown>[];
    };
  }

  test('every container that the engine starts has its row; one that has none is an alarm', async () => {
    for (let n = 0; n < 3; n += 1) await service.shell('true');
    for (;;) if ((await health()).body.account.started >= 3) break;
    const quiet = await health();
    expect(quiet.code).toBe(200);
    expect(quiet.body.account).toMatchObject({ listening: true, unaccounted_total: 0, unaccounted: [] });

    const unknown = newExecId();
    const planted = [
      await plant(service.dataDir, unknown, true),
      await plant(service.dataDir, undefined, true),
      await plant(service.dataDir, '../../etc', true),
    ];
    for (;;) if ((await health()).body.account.unaccounted_total === 3) break;
    const { code, body } = await health();
    expect(code).toBe(503);
    expect(body.problems).toEqual([
      'account: 3 containers with our label were started that no row accounts for.',
    ]);
    expect(
      body.account.unaccounted.map(({ container, exec_id: execId, why }) => [container, execId, why]),
    ).toEqual([
      [planted[2], '../../etc', 'it names no exec'],
      [planted[1], null, 'it names no exec'],
      [planted[0], unknown, 'there is no row of its exec'],
    ]);
    expect(service.log()).toContain('account.container_unaccounted');
    for (const id of planted) await api().call('DELETE', `/containers/${id}`, { query: { force: '1' } });
  });

  test('an engine that goes away and a database that does not answer are waited for', async () => {
    const at = new Date();
    const answers: (() => Promise<ExecRecord | undefined>)[] = [
      () => Promise.reject(new Error('locked')),
      () => Promise.resolve(undefined),
    ];
    const execId = newExecId();
    let asked = 0;
    const reconciler = new Reconciler({
      engine: {
        watchStarts: async function* watch() {
          asked += 1;
          if (asked === 1) throw new Error('gone');
          yield await Promise.resolve({ id: 'c', execId, purpose: 'exec' as const, at });
        } as never,
      },
      records: { find: () => (answers.shift() ?? (() => Promise.resolve(undefined)))() },
      dataDir: '/',
      logger,
      isPooled: () => false,
      retryMs: 10,
    });
    reconciler.begin();
    await until(() => asked > 3);
    await reconciler.close();
    // Heard again each time, and told once.
    expect(reconciler.account()).toMatchObject({ listening: false, started: 1, unaccounted_total: 1 });
  });
});
