import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { defaultTenant, newExecId, parseProjectId } from '@secbox/contracts';
import { createPathAdapter, sandboxOwner, Workspace } from '@secbox/workspace';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Attachment, ContainerEngine, ContainerSpec } from './container-engine.js';
import { openProxy } from './engine-proxy.contract.js';

export interface ContainerEngineSuite {
  /** Where a real engine is, with the sandbox image in it. */
  readonly dockerHost: string;
  readonly imageReference: string;
  makeEngine(dockerHost: string): ContainerEngine;
}

interface Run {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
  readonly outOfMemory: boolean;
}

const mebibyte = 1024 ** 2;
const unavailable = { code: 'engine_unavailable', kind: 'unavailable' };
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const shell = (script: string) => ['bash', '-c', script];
const python = (...lines: readonly string[]) => ['python3', '-c', ['import os, sys', ...lines].join('\n')];
/** Ends when it is told that all was read: for the last words of one that is gone an engine waits for two seconds only. */
const lasting = (...lines: readonly string[]) =>
  python(...lines, 'sys.stdout.flush()', 'sys.stderr.flush()', 'sys.stdin.read()');

/** What every adapter must do, on a real engine. */
export function describeContainerEngine(name: string, suite: ContainerEngineSuite): void {
  describe(`container engine: ${name}`, () => {
    jest.setTimeout(120_000);
    const engine = suite.makeEngine(suite.dockerHost);
    let imageId: string;
    let dataDir: string;
    let workspace: Workspace;

    beforeAll(async () => {
      const image = await engine.findImage(suite.imageReference);
      if (!image) throw new Error(`The engine does not have ${suite.imageReference}; run "npm run image".`);
      imageId = image.id;
    });

    beforeEach(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'secbox-engine-'));
      workspace = await Workspace.open({
        paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } }),
        ...(process.getuid?.() === 0 ? { owner: sandboxOwner } : {}),
      });
    });

    afterEach(async () => {
      for (const { id } of await engine.listOwned(dataDir)) await engine.remove(id);
      expect(await engine.listOwned(dataDir)).toEqual([]);
      await rm(dataDir, { recursive: true });
    });

    function specOf(command: readonly string[], changes: Partial<ContainerSpec> = {}): ContainerSpec {
      const execId = newExecId();
      const { mounts } = workspace.prepare({
        tenant: defaultTenant,
        projectId: parseProjectId('project'),
        execId,
      });
      return {
        imageId,
        runtime: 'runc',
        command,
        environment: {},
        workingDirectory: '/workspace/work',
        mounts,
        memoryBytes: 256 * mebibyte,
        cpus: 1,
        pids: 64,
        readOnlyRoot: true,
        maxFileBytes: 64 * mebibyte,
        owner: { purpose: 'exec', execId, dataDir },
        ...changes,
      };
    }

    const create = async (command: readonly string[], changes?: Partial<ContainerSpec>) =>
      engine.create(specOf(command, changes));

    async function started(command: readonly string[]): Promise<string> {
      const id = await create(command);
      return engine.start(id).then(() => id);
    }

    /** `onRead` hears how many bytes have come. */
    async function read(attachment: Attachment, onRead: (bytes: number) => unknown = () => undefined) {
      const parts = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
      let bytes = 0;
      for await (const { stream, data } of attachment.output) {
        parts[stream].push(Buffer.from(data));
        onRead((bytes += data.length));
      }
      return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
    }

    type RunOptions = Partial<ContainerSpec> & { stdin?: string | Buffer; endsAfter?: number };
    async function run(
      command: readonly string[],
      { stdin = '', endsAfter, ...changes }: RunOptions = {},
    ): Promise<Run> {
      const id = await create(command, changes);
      const attachment = await engine.attach(id);
      await engine.start(id);
      if (endsAfter === undefined) attachment.input.end(stdin);
      const reading = read(attachment, (bytes) => bytes === endsAfter && attachment.input.end());
      const [output, end] = await Promise.all([reading, engine.wait(id)]);
      attachment.close();
      await engine.remove(id);
      return { ...output, ...end };
    }

    const stateOf = async (id: string) => (await engine.listOwned(dataDir)).find((found) => found.id === id);

    async function dead(id: string): Promise<void> {
      while ((await stateOf(id))?.running) await pause(20);
    }

    test('tells about itself', async () => {
      const info = await engine.info();
      expect(info.version).toMatch(/^\d+\./);
      expect(info.apiVersion).toMatch(/^1\.\d+$/);
      expect(info.operatingSystem).not.toBe('');
      expect(info.cpus).toBeGreaterThanOrEqual(1);
      expect(info.memoryBytes).toBeGreaterThan(512 * mebibyte);
      expect(info.runtimes.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['runc', info.defaultRuntime]),
      );
    });

    describe('an image', () => {
      test('that is there is found by its name and by its id', async () => {
        const image = await engine.findImage(suite.imageReference);
        expect(image?.id).toMatch(/^sha256:[0-9a-f]{64}$/);
        expect(image?.labels).toMatchObject({ secbox: 'image' });
        expect(image?.environment).toMatchObject({ HOME: '/home/sandbox' });
        expect(await engine.findImage(imageId)).toEqual(image);
      });

      test.each(['secbox/no-such-image:latest', 'no-such-image', `sha256:${'0'.repeat(64)}`])(
        'that is not there is not: %s',
        async (reference) => {
          expect(await engine.findImage(reference)).toBeUndefined();
        },
      );
    });

    test('a container goes from created over running to dead to gone', async () => {
      const spec = specOf(shell('read -r; exit 3'));
      const id = await engine.create(spec);
      const listed = (state: object) => [{ id, execId: spec.owner.execId, purpose: 'exec', ...state }];
      expect(await engine.listOwned(dataDir)).toEqual(listed({ running: false, started: false }));
      const attachment = await engine.attach(id);
      await engine.start(id);
      expect(await engine.listOwned(dataDir)).toEqual(listed({ running: true, started: true }));
      attachment.input.end('\n');
      expect(await engine.wait(id)).toEqual({ exitCode: 3, outOfMemory: false });
      expect(await engine.listOwned(dataDir)).toEqual(listed({ running: false, started: true }));
      await engine.remove(id);
      expect(await engine.listOwned(dataDir)).toEqual([]);
    });

    test('tells which containers it starts, also those that it started before it was asked', async () => {
      const since = new Date(Date.now() - 1000);
      const closing = new AbortController();
      const started: string[] = [];
      const watch = async (wanted: number) => {
        for await (const { id, execId, purpose } of await engine.watchStarts(
          dataDir,
          since,
          closing.signal,
        )) {
          started.push(id);
          expect([execId, purpose]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), 'exec']);
          if (started.length === wanted) break;
        }
      };
      const run = async () => {
        const id = await engine.create(specOf(['true']));
        await engine.start(id);
        await engine.wait(id);
        return id;
      };
      const before = await run();
      const watching = watch(2);
      // Made, and never started: that is not told.
      await engine.create(specOf(['true']));
      const after = await run();
      await watching;
      expect(started).toEqual([before, after]);

      const idle = engine.watchStarts(dataDir, new Date(), closing.signal).then(async (starts) => {
        for await (const { id } of starts) started.push(id);
      });
      closing.abort();
      await idle.catch(() => undefined);
      expect(started).toHaveLength(2);
    });

    describe('what a program writes', () => {
      test('arrives on its stream, megabytes of every byte there is', async () => {
        const { stdout, stderr, exitCode } = await run(
          lasting(
            'for n in range(64):',
            '  sys.stdout.buffer.write(bytes(range(256)) * 256)',
            '  sys.stderr.buffer.write(bytes(reversed(range(256))) * 384)',
          ),
          { endsAfter: 10 * mebibyte },
        );
        const all = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
        const times = (bytes: Buffer, n: number) => Buffer.concat(Array<Buffer>(n).fill(bytes));
        expect(exitCode).toBe(0);
        expect([stdout.length, sha256(stdout)]).toEqual([4 * mebibyte, sha256(times(all, 64 * 256))]);
        const reversed = Buffer.from(all).reverse();
        expect([stderr.length, sha256(stderr)]).toEqual([6 * mebibyte, sha256(times(reversed, 64 * 384))]);
      });

      test('arrives whole in hundreds of thousands of single bytes, on both streams', async () => {
        const { stdout, stderr } = await run(
          lasting('for n in range(150_000):', "  os.write(1, b'o')", "  os.write(2, b'e')"),
          { endsAfter: 300_000 },
        );
        expect(stdout.equals(Buffer.alloc(150_000, 'o'))).toBe(true);
        expect(stderr.equals(Buffer.alloc(150_000, 'e'))).toBe(true);
      });

      test('arrives also when it is only read after the end', async () => {
        const id = await create(shell('echo out; echo err >&2'));
        const attachment = await engine.attach(id);
        await engine.start(id);
        expect(await engine.wait(id)).toMatchObject({ exitCode: 0 });
        const { stdout, stderr } = await read(attachment);
        expect([stdout.toString(), stderr.toString()]).toEqual(['out\n', 'err\n']);
      });

      test('nothing is an empty output', async () => {
        const { stdout, stderr } = await run(['true']);
        expect(stdout.length + stderr.length).toBe(0);
      });

      test('waits in the program, not in our memory, while nobody reads', async () => {
        const total = 64 * mebibyte;
        const id = await create(
          python(
            "progress = os.open('progress', os.O_CREAT | os.O_WRONLY)",
            'for n in range(1, 1025):',
            "  sys.stdout.buffer.write(b'x' * 65536)",
            "  os.pwrite(progress, b'%d' % (n * 65536), 0)",
          ),
        );
        const attachment = await engine.attach(id);
        const output = attachment.output[Symbol.asyncIterator]();
        await engine.start(id);
        const first = await output.next();
        expect(first.done).toBe(false);
        const before = process.memoryUsage().arrayBuffers;

        const written = await untilSteady(async () =>
          Number(await readFile(join(dataDir, 'workspace/projects/project/work/progress'), 'utf8')),
        );
        expect(written).toBeLessThan(total / 4);
        expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * mebibyte);

        let received = first.done === true ? 0 : first.value.data.length;
        for (let next = await output.next(); next.done !== true; next = await output.next()) {
          received += next.value.data.length;
        }
        expect(received).toBe(total);
        expect(await engine.wait(id)).toMatchObject({ exitCode: 0 });
      });
    });

    describe('what is sent to a program', () => {
      test('arrives whole, with its end', async () => {
        const stdin = randomBytes(4 * mebibyte + 1);
        const { stdout, exitCode } = await run(['cat'], { stdin });
        expect([stdout.length, sha256(stdout), exitCode]).toEqual([stdin.length, sha256(stdin), 0]);
      });

      test('is at its end at once when there is nothing', async () => {
        const { stdout, exitCode } = await run(shell('cat; echo over'));
        expect([stdout.toString(), exitCode]).toEqual(['over\n', 0]);
      });

      test('may go unread', async () => {
        const { exitCode } = await run(['true'], { stdin: Buffer.alloc(8 * mebibyte) });
        expect(exitCode).toBe(0);
      });
    });

    describe('a program', () => {
      test('gets its arguments and variables exactly, and its folder', async () => {
        const args = ['', 'a b', `'"\\$(id)`, 'a\nb', '数据 😀', '-rf', '*'];
        const { stdout } = await run(
          [
            ...python('import json', "print(json.dumps([sys.argv[1:], os.environ['A'], os.getcwd()]))"),
            ...args,
          ],
          { environment: { A: 'x=y\n"z"' }, workingDirectory: '/workspace/artifacts' },
        );
        expect(JSON.parse(stdout.toString())).toEqual([args, 'x=y\n"z"', '/workspace/artifacts']);
      });

      test.each([
        ['0', 0],
        ['1', 1],
        ['255', 255],
      ])('that exits with %s', async (code, exitCode) => {
        expect(await run(shell(`exit ${code}`))).toMatchObject({ exitCode, outOfMemory: false });
      });

      test('that dies of a signal', async () => {
        // A program that is the first process of its container ignores what it has no handler for.
        expect(await run(shell('bash -c "kill -SEGV \\$\\$"; exit $?'))).toMatchObject({ exitCode: 139 });
      });

      test('that takes more memory than it has is told from one that does not', async () => {
        const grow = python('b = []', 'while True: b.append(bytearray(os.urandom(1 << 20)))');
        const { exitCode, outOfMemory } = await run(grow, { memoryBytes: 48 * mebibyte });
        expect([exitCode, outOfMemory]).toEqual([137, true]);
      });

      test('finds itself shut in', async () => {
        const { stdout } = await run(
          shell(
            [
              'id -u',
              'for p in /etc /usr /workspace/inputs; do touch $p/x 2>/dev/null && echo "wrote $p"; done',
              'touch /workspace/work/x /workspace/artifacts/x /tmp/x && echo wrote',
              'sed -En "s,^[^ ]+ (/workspace/[a-z]+) [^ ]+ (r[wo]).*,\\1 \\2,p" /proc/self/mounts | sort',
              'cat /sys/class/net/*/address | sort -u',
              'grep -E "^(CapEff|CapBnd|NoNewPrivs|Seccomp):" /proc/self/status',
            ].join('\n'),
          ),
        );
        expect(stdout.toString().replaceAll('\t', ' ').trim().split('\n')).toEqual([
          '1000',
          'wrote',
          '/workspace/artifacts rw',
          '/workspace/inputs ro',
          '/workspace/work rw',
          '00:00:00:00:00:00',
          'CapEff: 0000000000000000',
          'CapBnd: 0000000000000000',
          'NoNewPrivs: 1',
          'Seccomp: 2',
        ]);
      });
    });

    describe('create', () => {
      test.each(['inputs', 'work', 'artifacts'] as const)(
        'is refused where the folder of %s is missing, and makes nothing on the host',
        async (mount) => {
          const spec = specOf(['true']);
          const folder = spec.mounts[mount];
          await rm(folder, { recursive: true });
          await expect(engine.create(spec)).rejects.toThrow(/does not exist|no such file/i);
          expect(await readdir(dirname(folder))).not.toContain(folder.slice(dirname(folder).length + 1));
          expect(await engine.listOwned(dataDir)).toEqual([]);
        },
      );

      test.each([`sha256:${'0'.repeat(64)}`, 'secbox/no-such-image:latest'])(
        'is refused for an image that is not there: %s',
        async (missing) => {
          await expect(create(['true'], { imageId: missing })).rejects.toThrow(/no such image/i);
          expect(await engine.listOwned(dataDir)).toEqual([]);
        },
      );

      test.each<[string, Partial<ContainerSpec>]>([
        ['no memory', { memoryBytes: 0 }],
        ['memory without an end', { memoryBytes: Infinity }],
        ['memory of -1', { memoryBytes: -1 }],
        ['no number of cpus', { cpus: NaN }],
        ['next to no cpu', { cpus: 1e-10 }],
        ['no pids', { pids: 0 }],
        ['pids of -1', { pids: -1 }],
      ])('is refused with %s, which an engine would take for no limit', async (_what, changes) => {
        await expect(create(['true'], changes)).rejects.toThrow(/is no limit/);
        expect(await engine.listOwned(dataDir)).toEqual([]);
      });
    });

    describe('kill', () => {
      test('ends what runs, whatever it ignores and whatever it started', async () => {
        const id = await started(
          shell('trap "" TERM INT HUP; setsid sleep 999 & sleep 999 & wait; sleep 999'),
        );
        await engine.kill(id);
        expect(await engine.wait(id)).toEqual({ exitCode: 137, outOfMemory: false });
      });

      test('is fine when it is dead, was never started, or is gone', async () => {
        const id = await create(['true']);
        await engine.kill(id);
        await engine.start(id);
        await engine.wait(id);
        await engine.kill(id);
        await engine.remove(id);
        await engine.kill(id);
        await engine.kill('0'.repeat(64));
      });

      test('may come many times at once', async () => {
        const id = await started(['sleep', '999']);
        await Promise.all(Array.from({ length: 10 }, () => engine.kill(id)));
        expect(await engine.wait(id)).toMatchObject({ exitCode: 137 });
      });
    });

    describe('remove', () => {
      test('takes what runs, what is dead and what was never started', async () => {
        const over = await started(['true']);
        await engine.wait(over);
        for (const id of [over, await started(['sleep', '999']), await create(['true'])]) {
          await engine.remove(id);
          expect(await stateOf(id)).toBeUndefined();
        }
      });

      test('is fine when it is gone', async () => {
        const id = await create(['true']);
        await engine.remove(id);
        await engine.remove(id);
        await engine.remove('0'.repeat(64));
      });

      test('may come many times at once, and none returns before it is gone', async () => {
        const id = await started(['sleep', '999']);
        const left = await Promise.all(
          Array.from({ length: 10 }, async () => {
            await engine.remove(id);
            return stateOf(id);
          }),
        );
        expect(left).toEqual(left.map(() => undefined));
      });
    });

    test('lists what is ours of that data folder alone', async () => {
      const others = [`${dataDir}2`, `${dataDir}/workspace`, `${dataDir}*`, `x${dataDir}`];
      const mine = [specOf(['true']), specOf(['sleep', '999'])] as const;
      const ids = [await engine.create(mine[0]), await engine.create(mine[1])];
      await engine.start(ids[1] ?? '');
      const foreign: string[] = [];
      try {
        for (const other of others) {
          const spec = specOf(['true']);
          foreign.push(await engine.create({ ...spec, owner: { ...spec.owner, dataDir: other } }));
        }
        const listed = await engine.listOwned(dataDir);
        expect([...listed].sort((a, b) => Number(a.running) - Number(b.running))).toEqual([
          { id: ids[0], execId: mine[0].owner.execId, purpose: 'exec', running: false, started: false },
          { id: ids[1], execId: mine[1].owner.execId, purpose: 'exec', running: true, started: true },
        ]);
        for (const [index, other] of others.entries()) {
          expect(await engine.listOwned(other)).toMatchObject([{ id: foreign[index] }]);
        }
      } finally {
        for (const id of foreign) await engine.remove(id);
      }
    });

    describe('a container that changes between two calls', () => {
      test('dies: what follows finds it dead', async () => {
        const id = await create(shell('echo bye'));
        const attachment = await engine.attach(id);
        await engine.start(id);
        await dead(id);
        await engine.kill(id);
        expect(await engine.wait(id)).toEqual({ exitCode: 0, outOfMemory: false });
        expect((await read(attachment)).stdout.toString()).toBe('bye\n');
      });

      test('goes away: what needs it fails, what ends it is fine', async () => {
        const id = await create(['true']);
        await engine.remove(id);
        const gone = expect.objectContaining({ message: expect.stringMatching(/no such container/i) });
        await expect(engine.attach(id)).rejects.toEqual(gone);
        await expect(engine.start(id)).rejects.toEqual(gone);
        await expect(engine.wait(id)).rejects.toEqual(gone);
        await engine.kill(id);
        await engine.remove(id);
      });

      test('is killed while it is waited for and read', async () => {
        const id = await create(shell('echo first; sleep 999'));
        const attachment = await engine.attach(id);
        await engine.start(id);
        const waiting = Promise.all([engine.wait(id), read(attachment)]);
        await engine.kill(id);
        expect((await waiting)[0]).toMatchObject({ exitCode: 137 });
      });
    });

    describe('an attachment', () => {
      test('that is closed early ends its reader, harms neither us nor the program', async () => {
        const id = await create(shell('for n in $(seq 20000); do echo $n; done 2>/dev/null; exit 5'));
        const attachment = await engine.attach(id);
        const reading = read(attachment).catch(() => undefined);
        await engine.start(id);
        attachment.close();
        attachment.close();
        attachment.input.write('too late');
        await reading;
        expect(await engine.wait(id)).toMatchObject({ exitCode: 5 });
      });

      test.each(['closed before the start', 'never read'])('that is %s holds nothing up', async (how) => {
        const id = await create(shell('echo unread'));
        const attachment = await engine.attach(id);
        if (how === 'closed before the start') attachment.close();
        await engine.start(id);
        expect(await engine.wait(id)).toMatchObject({ exitCode: 0 });
        attachment.close();
      });
    });

    describe('an engine that is not there', () => {
      test.each(['missing', 'file'])('is told as such by every call (socket: %s)', async (kind) => {
        const socket = join(dataDir, 'no.sock');
        if (kind === 'file') await writeFile(socket, '');
        const absent = suite.makeEngine(`unix://${socket}`);
        await expectUnavailable(absent, specOf(['true']));
      });
    });

    test('an engine that goes away meanwhile is told by who waits, and ends who reads', async () => {
      await mkdir(join(dataDir, 'proxy'));
      const proxy = await openProxy(join(dataDir, 'proxy', 'engine.sock'), suite.dockerHost);
      try {
        const through = suite.makeEngine(`unix://${proxy.path}`);
        const id = await create(shell('echo up; sleep 999'));
        const attachment = await through.attach(id);
        await through.start(id);
        const other = await create(['sleep', '999']);
        const unread = await through.attach(other);
        await through.start(other);
        const output = attachment.output[Symbol.asyncIterator]();
        expect((await output.next()).done).toBe(false);
        const waiting = expect(through.wait(id)).rejects.toMatchObject(unavailable);
        await proxy.answering('/wait');
        await proxy.close();
        await waiting;
        await output.next().catch(() => undefined);
        await new Promise((resolve) => unread.input.write('too late', resolve));
        for (const each of [attachment, unread]) each.close();
        await expectUnavailable(through, specOf(['true']));
        expect(await stateOf(id)).toMatchObject({ running: true });
      } finally {
        await proxy.close();
      }
    });
  });
}

async function expectUnavailable(engine: ContainerEngine, spec: ContainerSpec): Promise<void> {
  const id = '0'.repeat(64);
  const calls: Readonly<Record<keyof ContainerEngine, () => Promise<unknown>>> = {
    info: () => engine.info(),
    findImage: () => engine.findImage(spec.imageId),
    create: () => engine.create(spec),
    attach: () => engine.attach(id),
    start: () => engine.start(id),
    setLimits: () => engine.setLimits(id, spec),
    wait: () => engine.wait(id),
    kill: () => engine.kill(id),
    remove: () => engine.remove(id),
    listOwned: () => engine.listOwned(spec.owner.dataDir),
    watchStarts: async () => {
      const starts = await engine.watchStarts(spec.owner.dataDir, new Date(), new AbortController().signal);
      for await (const started of starts) throw new Error(`${started.id} was started by nobody.`);
    },
  };
  for (const call of Object.values(calls)) await expect(call()).rejects.toMatchObject(unavailable);
}

/** Asks until the answer has been the same for a second; too early an answer makes a test weaker, never fail. */
async function untilSteady(ask: () => Promise<number>): Promise<number> {
  let last = await ask();
  for (let same = 0; same < 20; same += 1) {
    await pause(50);
    const next = await ask();
    if (next !== last) same = 0;
    last = next;
  }
  return last;
}
