import { afterEach, expect, test } from '@jest/globals';
import { putSandboxSettings } from '../disk/put-settings.js';
import { pooled } from '../pool/pooled.js';
import { at, startLayeredService, type LayeredService } from './layered-service.js';

const skill = { weather: { 'SKILL.md': '# W\n', 'data.bin': 'x'.repeat(100_000) } };
const fill = (file: string, megabytes: number) => [
  '-c',
  `with open("${file}", "wb", buffering=0) as f:\n for _ in range(${megabytes}): f.write(bytes(1 << 20))`,
];

let service: LayeredService | undefined;
afterEach(() => service?.close());

test('what an exec writes over a skill is held to the size of a work folder by the kernel (case 33)', async () => {
  service = await startLayeredService(skill, pooled(0));
  await putSandboxSettings(service.url, { project_work_mb: 64 });
  const { body } = await service.execute(at('u1'), 'python3', fill('big', 80));
  expect(body.data).toMatchObject({ exit_code: 1, status: 'failed' });
  expect(body.data.stderror).toContain('No space left on device');
  // An unlinked file that is held open, and preallocation, are no way around.
  const around = await service.execute(at('u2'), 'python3', [
    '-c',
    'import os\nf = open("f", "wb")\nos.remove("f")\nos.posix_fallocate(f.fileno(), 0, 80 << 20)',
  ]);
  expect(around.body.data.stderror).toContain('No space left on device');
  expect(around.body.data.effects).toMatchObject({ kept: true, added: [], totals: { added: 0 } });
  // Nothing of the first is in the way of the next.
  const next = await service.execute(at('u1'), 'python3', fill('fine', 20));
  expect(next.body.data).toMatchObject({ exit_code: 0, effects: { added: [{ path: 'fine' }] } });
});

test('a general sandbox is watched: who makes it too large is ended', async () => {
  service = await startLayeredService(skill, pooled(0));
  await putSandboxSettings(service.url, { project_work_mb: 64 });
  const [flag = '', code = ''] = fill('big', 100);
  const { body } = await service.inSandbox(at('u1'), 'python3', [
    flag,
    `${code}\nimport time\ntime.sleep(60)`,
  ]);
  expect(body.data).toMatchObject({ exit_code: 137, status: 'failed' });
  expect(body.data.error_reason).toMatch(/work/);
});

test('an administrator may let them take less than five minutes, and they end when their time is up', async () => {
  service = await startLayeredService(skill, pooled(0));
  const { version } = (await (await fetch(`${service.url}/settings`)).json()) as { version: number };
  const put = await fetch(`${service.url}/settings`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': `"${version}"` },
    body: JSON.stringify({ policy: { ceilings: { timeout_ms: 1500 } } }),
  });
  expect([put.status, await put.text()]).toEqual([200, expect.anything()]);
  const { body } = await service.execute(at('u1'), 'bash', ['-c', 'echo 1 > begun; sleep 100']);
  expect(body.data).toMatchObject({ status: 'timed_out', exit_code: 137, effects: { kept: true } });
  expect((await service.execute(at('u1'), 'cat', ['begun'])).body.data.stdout).toBe('1\n');
});
