import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { forgetPeak, residentBytes } from '../lifecycle/process-figures.js';
import { startServer } from '../lifecycle/server-process.js';

const mebibyte = 1024 ** 2;

let dataDir: string;
let server: Awaited<ReturnType<typeof startServer>>;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'secbox-memory-'));
  server = await startServer({ SECBOX_DATA_DIR: dataDir, SECBOX_SHUTDOWN_GRACE_MS: '0' });
});
afterEach(async () => {
  await server.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});

async function python(code: string, overrides: Record<string, number>): Promise<ExecAnswer> {
  const response = await fetch(`${server.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: 'p',
      exec: { kind: 'python', command: 'python', args: ['-c', code] },
      policy_overrides: overrides,
    }),
  });
  return (await response.json()) as ExecAnswer;
}

/** Block n of a stream that says at every place where that is. */
const block = (n: number) => Buffer.from(n.toString(16).padStart(8, '0').repeat(8192));
const blocks = (bytes: number) => bytes / 65_536;
const write = (bytes: number) => `
import os
def write(data):
    while data: data = data[os.write(1, data):]
for n in range(${blocks(bytes)}): write(b'%08x' % n * 8192)
`;

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

test('case 34: a gigabyte at full speed: exact up to the cap, flagged, and core-api grows by less than 40 MB', async () => {
  const pid = server.child.pid ?? 0;
  const cap = 16 * mebibyte;
  // What the first exec of a process costs, it costs once.
  await python(write(mebibyte), {});
  await forgetPeak(pid);
  const before = await residentBytes(pid);

  const answer = await python(write(1024 * mebibyte), { max_stdout_bytes: cap, timeout_ms: 300_000 });
  const after = await residentBytes(pid);
  expect(answer).toMatchObject({ status: 'succeeded', exit_code: 0, stdout_truncated: true });

  const expected = createHash('sha256');
  for (let n = 0; n < blocks(cap); n += 1) expected.update(block(n));
  expect(await sha256Of(answer.stdout_path)).toBe(expected.digest('hex'));
  expect((after.peak - before.now) / mebibyte).toBeLessThan(40);
}, 320_000);

test('case 34: a byte of one stream keeps nothing of the other: core-api grows by less than 40 MB', async () => {
  const pid = server.child.pid ?? 0;
  await python(write(mebibyte), {});
  await forgetPeak(pid);
  const before = await residentBytes(pid);
  const answer = await python(
    `
import os
rest = b'x' * 65_535
for n in range(8192):
    os.write(1, b'a')
    for part in (rest, b'y'):
        while part: part = part[os.write(2, part):]
`,
    { max_stdout_bytes: mebibyte, max_stderr_bytes: mebibyte, timeout_ms: 300_000 },
  );
  const after = await residentBytes(pid);
  expect(answer).toMatchObject({ status: 'succeeded', stdout: 'a'.repeat(8192), stderr_truncated: true });
  expect((after.peak - before.now) / mebibyte).toBeLessThan(40);
}, 320_000);
