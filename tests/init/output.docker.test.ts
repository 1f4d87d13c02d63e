import { describe, expect, jest, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { InitSession } from '../../packages/container-engine/src/init/init-session.js';
import { path, run, withSandbox } from './sandbox.js';

// A container takes its time to start on a busy machine.
jest.setTimeout(120_000);

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

/** Bytes that both sides can make, so that neither has to be told them: the digests of a counter. */
function noise(seed: string, count: number): Buffer {
  return Buffer.concat(
    Array.from({ length: count }, (_, n) => createHash('sha256').update(`${seed}${n}`).digest()),
  );
}

describe('output', () => {
  test('35: several MB of binary on both streams at once arrive byte for byte', async () => {
    const program = [
      'import hashlib, os, threading',
      'def emit(fd, seed):',
      '    data = b"".join(hashlib.sha256(f"{seed}{n}".encode()).digest() for n in range(150000))',
      '    while data: data = data[os.write(fd, data[:100003]):]',
      'ts = [threading.Thread(target=emit, args=a) for a in ((1, "o"), (2, "e"))]',
      '[t.start() for t in ts]; [t.join() for t in ts]',
    ].join('\n');
    const { outcome, stdout, stderr } = await run(['python3', '-c', program]);
    expect(outcome).toMatchObject({ kind: 'ended', exit: { end: { kind: 'exited', code: 0 } } });
    expect([sha256(stdout), sha256(stderr)]).toEqual([
      sha256(noise('o', 150_000)),
      sha256(noise('e', 150_000)),
    ]);
  });

  test('split UTF-8, NULs and ANSI are bytes like any others, in the order they were written', async () => {
    const program =
      'import os, time\nfor b in "a😀\\0\\x1b[31mü\\r\\n".encode() * 3: os.write(1, bytes([b]))';
    const { stdout } = await run(['python3', '-c', program]);
    expect(stdout.toString()).toBe('a😀\0\x1b[31mü\r\n'.repeat(3));
  });

  test('what was written right before the end is there: the last byte of every one of many', async () => {
    const { stdout, stderr } = await run(['sh', '-c', 'printf out; printf err >&2; kill -9 $$']);
    expect([stdout.toString(), stderr.toString()]).toEqual(['out', 'err']);
  });

  test('a pipe filled to the brim by a process that is then killed is delivered whole', async () => {
    // The writer's own pipe is grown to its largest and left full behind a reader that has not come yet.
    const program = [
      'import fcntl, os, signal',
      'fcntl.fcntl(1, 1031, 1 << 20)',
      'os.set_blocking(1, False)',
      'n = 0',
      'try:',
      '    while True: n += os.write(1, b"x" * 65536)',
      'except BlockingIOError: pass',
      'os.write(2, str(n).encode())',
      'os.kill(os.getpid(), signal.SIGKILL)',
    ].join('\n');
    const { outcome, stdout, stderr } = await run(['python3', '-c', program]);
    expect(outcome).toMatchObject({ exit: { end: { kind: 'signaled', signal: 9 } } });
    expect(stdout).toHaveLength(Number(stderr.toString()));
    expect(stdout.length).toBeGreaterThanOrEqual(1 << 20);
  });

  test('a pipe in packet mode loses nothing', async () => {
    const program = [
      'import fcntl, os',
      'fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT)',
      'for n in range(2000): os.write(1, (f"{n:04}" * 1024)[:4096 - n].encode())',
    ].join('\n');
    const expected = Array.from({ length: 2000 }, (_, n) =>
      n
        .toString()
        .padStart(4, '0')
        .repeat(1024)
        .slice(0, 4096 - n),
    );
    const { stdout } = await run(['python3', '-c', program]);
    expect(sha256(stdout)).toBe(sha256(expected.join('')));
  });

  test('closing one stream early, or both, ends nothing', async () => {
    const program = 'exec >&-; echo still >&2; exec 2>&-; sleep 0.2; exit 7';
    const { outcome, stderr } = await run(['sh', '-c', program]);
    expect(outcome).toMatchObject({ exit: { end: { kind: 'exited', code: 7 } } });
    expect(stderr.toString()).toBe('still\n');
  });

  test('two hundred thousand tiny writes', async () => {
    const { stdout } = await run([
      'python3',
      '-c',
      'import os\nfor n in range(200000): os.write(1, b"%06d" % n)',
    ]);
    const expected = Array.from({ length: 200_000 }, (_, n) => n.toString().padStart(6, '0')).join('');
    expect(sha256(stdout)).toBe(sha256(expected));
  });
});

describe('a host that does not read', () => {
  test('holds the command back; nothing is lost when it reads again, even long after the end', async () => {
    await withSandbox({}, async (sandbox) => {
      const session = new InitSession(sandbox);
      const digest = createHash('sha256');
      let length = 0;
      let slept = 0;
      const pauses = [100_000, 7_900_000];
      const outcome = await session.run(
        { argv: ['sh', '-c', 'head -c 8000000 /dev/zero; echo end'], cwd: '/', env: { PATH: path } },
        {
          stderr: () => undefined,
          stdout: async (data) => {
            digest.update(data);
            length += data.length;
            // Longer than the engine keeps the streams of a container whose PID 1 has gone.
            if (length > (pauses[slept] ?? Infinity)) {
              slept += 1;
              await sleep(4000);
            }
          },
        },
      );
      expect(outcome).toMatchObject({ kind: 'ended', exit: { end: { kind: 'exited', code: 0 } } });
      expect(digest.digest('hex')).toBe(
        sha256(Buffer.concat([Buffer.alloc(8_000_000), Buffer.from('end\n')])),
      );
    });
  });

  test('still has its kill obeyed, and its container’s memory stays small', async () => {
    await withSandbox({ memoryMb: 32 }, async (sandbox) => {
      const session = new InitSession(sandbox);
      const gate: { reached: boolean; open: () => void } = { reached: false, open: () => undefined };
      const stdout = () => {
        if (gate.reached) return undefined;
        gate.reached = true;
        return new Promise<void>((resolve) => (gate.open = resolve));
      };
      const running = session.run(
        { argv: ['yes'], cwd: '/', env: { PATH: path } },
        { stdout, stderr: () => undefined },
      );
      while (!gate.reached) await sleep(5);
      await sleep(500);
      expect(await sandbox.top()).toContain('yes');
      await session.kill(9);
      while ((await sandbox.top()).includes('yes')) await sleep(5);
      gate.open();
      const outcome = await running;
      expect(outcome).toMatchObject({
        kind: 'ended',
        exit: { end: { kind: 'signaled', signal: 9 }, alone: true, oomKills: 0 },
      });
    });
  });
});
