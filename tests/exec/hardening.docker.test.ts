import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { containersGone } from './engine-view.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

describe('a running exec', () => {
  test('leaves no container behind', async () => {
    await service.shell('true');
    await containersGone(service.dataDir);
  });
});

describe('from inside', () => {
  test('the root is read-only; /tmp, home and /dev/shm are small and writable (case 32)', async () => {
    const { stdout } = await service.shell(
      [
        'for f in / /usr /etc /var/tmp /opt; do touch $f/x 2>/dev/null && echo wrote $f; done',
        'for f in /tmp ~ /dev/shm; do touch $f/x && echo wrote $f; done',
        "df --output=target,size -B1M /tmp ~ /dev/shm | tail -n +2 | tr -s ' '",
        'dd if=/dev/zero of=/tmp/fill bs=1M count=300 2>/dev/null || echo full',
      ].join('\n'),
    );
    expect(stdout.trim().split('\n')).toEqual([
      'wrote /tmp',
      'wrote /home/sandbox',
      'wrote /dev/shm',
      '/tmp 128',
      '/home/sandbox 64',
      '/dev/shm 16',
      'full',
    ]);
  });

  test('python, python3, pip and the tools the API promises are there', async () => {
    const tools =
      'python python3 pip pip3 bash sh ls cat grep sed awk echo cp mv rm mkdir find curl jq git'.split(' ');
    const { stdout } = await service.shell(
      tools.map((tool) => `command -v ${tool} >/dev/null || echo missing ${tool}`).join('\n') +
        '\npython -c "import sys; print(sys.version_info >= (3, 11))"; python3 -c "print(1)"; pip --version >/dev/null && echo pip',
    );
    expect(stdout).toBe('True\n1\npip\n');
  });
});
