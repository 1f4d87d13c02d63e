import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ExecAnswer } from '@secbox/contracts';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceArguments } from '../../docker/setup/serve.mjs';
import { containersOf } from '../exec/engine-view.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pooled } from '../pool/pooled.js';
import { repositoryRoot, startProcess, startServer } from './server-process.js';

let dataDir: string;
let next: RunningService | undefined;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-interrupted-'));
  next = undefined;
});
afterEach(async () => {
  await next?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const reason = 'interrupted: the server ended while this exec was under way';
const artifactsOf = (execId: string) => join(dataDir, 'workspace/projects/p/artifacts', execId);

/** Runs a script on a server that is killed as soon as the script has said `begun` on its stderr. */
async function killedInTheMiddle(script: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const server = await startServer({ SECBOX_DATA_DIR: dataDir, ...environment });
  const response = await fetch(`${server.url}/sandbox/execs?wait=false`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: 'p',
      exec: { kind: 'shell', command: 'bash', args: ['-lc', `${script}; echo begun >&2; sleep 250`] },
      inputs: [{ path: 'given', content: 'given' }],
    }),
  });
  const { exec_id: execId } = (await response.json()) as ExecAnswer;
  const stderr = join(dataDir, 'workspace/spool', execId, 'stderr.txt');
  for (;;) {
    const size = await stat(stderr).then(
      (stats) => stats.size,
      () => 0,
    );
    if (size > 0) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await server.end('SIGKILL');
  return execId;
}

async function rowOf(execId: string): Promise<ExecAnswer> {
  return (await (await fetch(`${next?.url}/sandbox/execs/${execId}`)).json()) as ExecAnswer;
}

test.each([
  ['cold', {}],
  ['warm', pooled(1)],
] as const)(
  'kill -9 mid-exec, %s: what it printed and left is published, with the reason (case 63)',
  async (_mode, environment) => {
    const planted = `echo '{"status":"succeeded"}' > meta.json`;
    const script = `echo so far; cd /workspace/artifacts; mkdir d; echo x > d/x; ${planted}; chmod 0 .`;
    const execId = await killedInTheMiddle(script, environment);

    next = await startRunningService({}, dataDir);
    expect(await containersOf(dataDir)).toEqual([]);
    expect(await rowOf(execId)).toMatchObject({
      status: 'error',
      error_reason: reason,
      exit_code: null,
      stdout: 'so far\n',
      stderr: 'begun\n',
      artifacts: [{ path: 'd/x', size: 2 }, { path: 'meta.json.from-exec' }],
    });
    const at = `${next.url}/sandbox/execs/${execId}`;
    expect(await (await fetch(`${at}/artifacts/d/x`)).text()).toBe('x\n');
    expect(await (await fetch(`${at}/stdout`)).text()).toBe('so far\n');
    expect(await (await fetch(`${at}/inputs`)).json()).toMatchObject({
      inputs: [{ path: 'given', size: 5 }],
    });

    const document = async (name: string) =>
      JSON.parse(await readFile(join(artifactsOf(execId), name), 'utf8')) as Record<string, unknown>;
    expect(await document('manifest.json')).toMatchObject({
      exec_id: execId,
      output: { stdout: { size: 7, truncated: false } },
      files: [{ path: 'd/x' }, { path: 'meta.json.from-exec' }],
    });
    const meta = await document('meta.json');
    expect(meta).toMatchObject({
      exec_id: execId,
      status: 'error',
      error_reason: reason,
      inputs: [{ path: 'given', size: 5 }],
      docker_mounts: [{ mode: 'ro' }, { mode: 'rw' }, { source: artifactsOf(execId) }],
      set_aside: [{ name: 'meta.json', kept_as: 'meta.json.from-exec' }],
    });
    // As of an exec that ended by itself.
    const { exec_id: other } = await next.shell('true');
    const usual = JSON.parse(await readFile(join(artifactsOf(other), 'meta.json'), 'utf8')) as object;
    expect(Object.keys(meta).sort()).toEqual(Object.keys(usual).sort());
    expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
  },
);

test('kill -9 again, in the middle of recovering: the next start goes on with it (case 63)', async () => {
  const files = 2000;
  const execId = await killedInTheMiddle(
    `cd /workspace/artifacts; for i in $(seq ${files - 1}); do echo $i > $i; done; echo mine > stdout.txt; echo so far`,
  );
  // The first thing that collecting does; what comes then takes it a while.
  const setAside = join(artifactsOf(execId), 'stdout.txt.from-exec');
  const second = startProcess(process.execPath, serviceArguments(repositoryRoot), {
    SECBOX_DATA_DIR: dataDir,
    SECBOX_AUTH: 'off',
  });
  while (!existsSync(setAside)) await new Promise((resolve) => setImmediate(resolve));
  await second.end('SIGKILL');
  expect(await readdir(artifactsOf(execId))).not.toContain('meta.json');

  next = await startRunningService({}, dataDir);
  expect(await rowOf(execId)).toMatchObject({ status: 'error', error_reason: reason, stdout: 'so far\n' });
  const manifest = JSON.parse(await readFile(join(artifactsOf(execId), 'manifest.json'), 'utf8')) as {
    readonly files: readonly unknown[];
  };
  expect(manifest.files).toHaveLength(files);
  expect(await readFile(setAside, 'utf8')).toBe('mine\n');
  expect(await readdir(join(dataDir, 'workspace/spool'))).toEqual([]);
});
