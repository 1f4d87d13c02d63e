import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { childrenOf, hostProcess, isAlive, killSurely, type HostProcess } from './host-process.js';

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('a process of this host', () => {
  let child: ChildProcess;
  let known: HostProcess;
  beforeEach(async () => {
    // Its name holds what a careless reader would stumble over.
    child = spawn('sleep', ['300'], { stdio: 'ignore', argv0: 'a) S (b' });
    await once(child, 'spawn');
    const found = await hostProcess(child.pid ?? 0);
    if (!found) throw new Error('it is not there');
    known = found;
  });
  afterEach(() => {
    child.kill('SIGKILL');
  });

  test('is known by its pid, its start and the start of the host', async () => {
    expect(known).toEqual({
      pid: child.pid,
      startTime: expect.stringMatching(/^\d+$/),
      bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    expect(await isAlive(known)).toBe(true);
    expect(await isAlive({ ...known, startTime: '1' })).toBe(false);
    expect(await isAlive({ ...known, bootId: 'another' })).toBe(false);
    expect(await childrenOf(process.pid)).toContain(child.pid);
    expect(await hostProcess(2 ** 30)).toBeUndefined();
    expect(await childrenOf(2 ** 30)).toEqual([]);
  });

  test('is killed, and who has only its pid is not', async () => {
    expect(await killSurely([{ ...known, startTime: '1' }], 1000)).toBe(true);
    expect(await isAlive(known)).toBe(true);
    const ended = once(child, 'exit');
    expect(await killSurely([known, known], 10_000)).toBe(true);
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(await killSurely([known], 0)).toBe(true);
  });
});
