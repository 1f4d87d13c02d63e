import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineApi } from '../../docker/setup/engine-api.mjs';
import { commandLine } from '../../docker/setup/process-identity.mjs';
import { strandedProcesses } from '../../docker/setup/stranded-containers.mjs';
import { startOwnEngine, type OwnEngine } from '../exec/own-engine.js';

jest.setTimeout(180_000);

let engine: OwnEngine;
beforeEach(async () => {
  engine = await startOwnEngine();
});
afterEach(async () => {
  await engine.close();
});

const call = (method: string, path: string, json?: unknown) =>
  new EngineApi({ host: engine.dockerHost }).call(method, path, { json });

async function create(): Promise<string> {
  const { Id } = (await call('POST', '/containers/create', {
    Image: 'secbox/sandbox:latest',
    Entrypoint: ['/bin/sleep'],
    Cmd: ['600'],
    HostConfig: { NetworkMode: 'none' },
  })) as { Id: string };
  return Id;
}

async function startedPid(id: string): Promise<number> {
  await call('POST', `/containers/${id}/start`);
  const { State } = (await call('GET', `/containers/${id}/json`)) as { State: { Pid: number } };
  return State.Pid;
}

test('a container that a killed engine knows nothing of ends with its next start, and so do all others', async () => {
  const [known, forgotten] = [await create(), await create()];
  const pids = [await startedPid(known), await startedPid(forgotten)];
  await engine.kill();
  expect(strandedProcesses(engine.paths)).toEqual(expect.arrayContaining(pids));
  // As if the engine had been killed before it wrote down that there is such a container.
  await rm(join(engine.paths.dataRoot, 'containers', forgotten), { recursive: true });

  await engine.start();
  expect(await engine.stranded()).toEqual([]);
  for (const pid of pids) expect(await commandLine(pid)).not.toContain('600');
  const listed = (await call('GET', '/containers/json?all=1')) as { Id: string; State: string }[];
  expect(listed.map(({ Id, State }) => [Id, State])).toEqual([[known, 'exited']]);
  // The engine is well: it goes on with containers old and new.
  expect(await startedPid(known)).toBeGreaterThan(1);
  expect(await startedPid(await create())).toBeGreaterThan(1);
});

test('containers in the middle of being started end, too, and processes of others do not', async () => {
  const stranger = spawn('/bin/sleep', ['600'], { stdio: 'ignore' });
  try {
    const ids = await Promise.all(Array.from({ length: 6 }, create));
    const starts = ids.map(async (id) => {
      await call('POST', `/containers/${id}/start`).catch(() => undefined);
    });
    // The first is up: the others are at every stage of it.
    await Promise.race(starts);
    await engine.kill();
    await engine.start();
    await Promise.all(starts);
    expect(await engine.stranded()).toEqual([]);
    expect(stranger.exitCode).toBeNull();
    expect(stranger.signalCode).toBeNull();
    await Promise.all(ids.map((id) => call('DELETE', `/containers/${id}?force=1`)));
    expect(await call('GET', '/containers/json?all=1')).toEqual([]);
  } finally {
    stranger.kill();
    await once(stranger, 'exit');
  }
});
