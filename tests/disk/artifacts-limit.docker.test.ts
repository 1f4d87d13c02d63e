import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startRunningService, type RunningService } from '../exec/running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

const limit = 64 * 1024 ** 2;
const more = { exec: { cwd: '/workspace/artifacts' }, policy_overrides: { max_artifacts_bytes_total: 1024 } };

/** Runs until it is ended, so that what ends it is not its own end. */
const goOn = '\nimport time\ntime.sleep(250)\n';

describe('an exec that holds more than it may in artifacts is ended, with the reason (case 33)', () => {
  test.each([
    ['by writing', "open('big', 'wb').write(bytes(100 << 20))"],
    [
      'by files without a name that are open',
      `
import os
files = []
for n in range(10):
    files.append(open('gone', 'wb'))
    os.unlink('gone')
    files[-1].write(bytes(10 << 20))
`,
    ],
    [
      'by files without a name that are only mapped',
      `
import mmap, os
with open('gone', 'w+b') as file:
    file.write(bytes(100 << 20))
    file.flush()
    kept = mmap.mmap(file.fileno(), 0)
os.unlink('gone')
`,
    ],
    [
      'in a folder deeper than any path',
      `
import os
for _ in range(3000):
    os.mkdir('deeper')
    os.chdir('deeper')
open('big', 'wb').write(bytes(100 << 20))
`,
    ],
  ])('%s', async (_name, code) => {
    const answer = await service.python(code + goOn, more);
    expect(answer.status).toBe('failed');
    const [, held, allowed] = /^ended: artifacts held (\d+) bytes, more than the (\d+) it may$/.exec(
      answer.error_reason ?? '',
    ) ?? [answer.error_reason];
    expect([Number(allowed), Number(held) > limit]).toEqual([limit, true]);
    expect((await service.shell('echo on')).stdout).toBe('on\n');
  });

  test('by many files', async () => {
    const code = `
import os
for n in range(100000):
    os.close(os.open(f'{n}', os.O_CREAT))
`;
    const answer = await service.python(code + goOn, more);
    expect(answer).toMatchObject({ status: 'failed', artifacts_truncated: true });
    expect(answer.error_reason).toMatch(
      /^ended: artifacts held \d+ files and folders, more than the 50000 it may$/,
    );
  });
});

test('an exec that holds less than it may goes on, and what is over the cap is dropped at its end', async () => {
  const answer = await service.python(
    "import time\nopen('big', 'wb').write(bytes(60 << 20))\ntime.sleep(2.5)\nprint('done')",
    more,
  );
  expect(answer).toMatchObject({
    status: 'succeeded',
    stdout: 'done\n',
    artifacts_truncated: true,
    artifacts: [],
  });
});
