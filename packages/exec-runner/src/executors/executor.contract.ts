import { mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { getPriority, setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EngineImage } from '@secbox/container-engine';
import { defaultTenant, type ArgvCommand } from '@secbox/contracts';
import { mergePolicy } from '@secbox/policy';
import { createPathAdapter, sandboxOwner, within, Workspace } from '@secbox/workspace';
import { orderOf } from '../exec-order.js';
import { planExec } from '../exec-plan.js';
import { OutputFile, outputNames } from '../output-file.js';
import { Progress } from '../progress.js';
import type { RunResult } from '../run-container.js';
import type { Executor, StartingSandbox } from './executor.js';

export interface ExecutorParts {
  readonly workspace: Workspace;
  readonly dataDir: string;
}

export interface ExecutorSuite {
  /** Of which the plans are made, whether it is used or not. */
  readonly image: () => Promise<EngineImage>;
  /** Ready to run. */
  readonly open: (parts: ExecutorParts) => Promise<Executor>;
}

interface Ran extends RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

interface More {
  readonly exec?: Partial<ArgvCommand>;
  readonly policy?: object;
  readonly stop?: AbortSignal;
  readonly onStarting?: (sandbox: StartingSandbox) => Promise<void>;
}

/** What holds of a command whichever sandbox it runs in, as far as it can tell from inside and we from outside. */
export function describeExecutor(name: string, suite: ExecutorSuite): void {
  describe(`${name} as an executor`, () => {
    let dataDir: string;
    let workspace: Workspace;
    let executor: Executor;
    let folders: ReturnType<Workspace['foldersOf']>;

    beforeEach(async () => {
      dataDir = await realpath(await mkdtemp(join(tmpdir(), 'secbox-executor-')));
      workspace = await Workspace.open({
        paths: createPathAdapter({ mode: 'linux', roots: { workspace_root: join(dataDir, 'workspace') } }),
        ...(process.getuid?.() === 0 ? { owner: sandboxOwner } : {}),
      });
      executor = await suite.open({ workspace, dataDir });
    });
    afterEach(() => rm(dataDir, { recursive: true, force: true }));

    async function run(argv: readonly string[], more: More = {}): Promise<Ran> {
      const [command = '', ...args] = argv;
      const exec: ArgvCommand = { kind: 'argv', command, args, ...more.exec };
      const order = orderOf({ project_id: 'p', exec }, { caller: { tenant: defaultTenant, actor: null } });
      const engine = { cpus: 2, memory_mb: 8192, defaultRuntime: 'runc' };
      const policy = mergePolicy({ engine, overrides: more.policy ?? {} });
      const plan = planExec(order, { imageReference: 'i', image: await suite.image(), policy });
      folders = workspace.foldersOf(plan);
      workspace.prepare(plan, folders);
      const background: Promise<void>[] = [];
      const never = new AbortController().signal;
      return within(workspace.openSpool(plan.execId), async (spool) => {
        const { max_stdout_bytes, max_stderr_bytes } = policy.values;
        const progress = new Progress();
        const outputs = {
          stdout: await OutputFile.create(spool, outputNames.stdout, max_stdout_bytes, progress),
          stderr: await OutputFile.create(spool, outputNames.stderr, max_stderr_bytes, progress),
        };
        try {
          const result = await executor.run({
            plan,
            mounts: folders.mounts,
            outputs,
            stop: more.stop ?? never,
            onStarting: more.onStarting ?? (() => Promise.resolve()),
            abandon: never,
            inBackground: (work) => background.push(work),
            onUncertain: (_id, error) => {
              throw error;
            },
            onLeftover: (_id, error) => {
              throw error;
            },
          });
          const text = (of: 'stdout' | 'stderr') => readFile(join(folders.spool, outputNames[of]), 'utf8');
          const [stdout, stderr] = [await text('stdout'), await text('stderr')];
          return { ...result, stdout, stderr, truncated: outputs.stdout.close().truncated };
        } finally {
          await Promise.all(background);
        }
      });
    }
    const sh = (script: string, more?: More) => run(['bash', '-c', script], more);

    test('tells exit, output and what was asked for, as it is', async () => {
      const odd = ['a b', "'", '"$x`', '\n', 'ü', ''];
      const ran = await run(['bash', '-c', 'printf "<%s>" "$@"; cat; printf err >&2; exit 7', 'sh', ...odd], {
        exec: { stdin: 'from stdin\u0000' },
      });
      expect(ran).toMatchObject({ exitCode: 7, signal: null, timedOut: false, failure: null });
      expect(ran.stdout).toBe(`${odd.map((word) => `<${word}>`).join('')}from stdin\u0000`);
      expect(ran.stderr).toBe('err');
    });

    test.each([
      ['an exit that looks like a signal', 'exit 137', { exitCode: 137, signal: null }],
      ['a signal', 'kill -SEGV $$', { exitCode: 139, signal: 11 }],
    ])('tells %s', async (_of, script, expected) => {
      expect(await sh(script)).toMatchObject(expected);
    });

    test('says that a program is not there', async () => {
      const ran = await run(['no-such-program']);
      expect(ran.exitCode).toBe(127);
      expect(ran.failure).toMatch(/not found|no such/i);
    });

    test('hands over the variables of the request, and none of ours', async () => {
      env['SECBOX_CANARY'] = 'canary';
      try {
        const ran = await run(['env'], { exec: { env: { MINE: 'a=b\nc' } } });
        expect(ran.stdout).toContain('MINE=a=b\nc\n');
        expect(ran.stdout).not.toContain('canary');
        const all = await sh('tr "\\0" "\\n" < /proc/1/environ; cat /proc/*/environ /proc/*/cmdline; true');
        expect(`${all.stdout}${all.stderr}`).not.toContain('canary');
        expect(all.stdout).not.toContain(dataDir);
      } finally {
        delete env['SECBOX_CANARY'];
      }
    });

    test('has the three folders and nothing else to write to but what goes with it', async () => {
      await run(['true']);
      await writeFile(join(folders.inputs, 'in.txt'), 'in');
      const ran = await sh(
        [
          'pwd; cat /workspace/inputs/in.txt',
          'echo work > kept; echo art > /workspace/artifacts/a.txt; echo t > /tmp/t; echo h > ~/h',
          'for place in /workspace/inputs/x /x /etc/x /usr/x /workspace/x /proc/sys/kernel/x /dev/x; do',
          '  echo x 2>/dev/null > $place && echo "wrote $place"; done; ls /workspace',
        ].join('\n'),
      );
      expect(ran.stdout).toBe('/workspace/work\ninartifacts\ninputs\nwork\n');
      expect(await readFile(join(folders.work, 'kept'), 'utf8')).toBe('work\n');
      expect(await stat(join(folders.artifacts, 'a.txt'))).toMatchObject({ uid: 1000, gid: 1000 });
      expect((await sh('cat kept; ls /tmp ~')).stdout).toBe('work\n/home/sandbox:\n\n/tmp:\n');
      expect(await sh('pwd', { exec: { cwd: '/workspace/artifacts' } })).toMatchObject({
        stdout: '/workspace/artifacts\n',
      });
    });

    test('has no rights, no network, no precedence, and sees no process but its own', async () => {
      const before = getPriority();
      setPriority(-5);
      try {
        const ran = await sh(
          [
            'id -u; id -g; id -G; nice; ulimit -c; ulimit -n',
            'grep -E "^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs)" /proc/self/status | tr -s "\\t0" " 0"',
            'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "',
            'unshare -U true 2>/dev/null && echo namespaces; unshare -Ur true 2>/dev/null && echo root',
            'ls /proc | grep -cE "^[0-9]+$"; test $$ = 1 && echo first; echo $PPID',
          ].join('\n'),
        );
        const rights = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}: 0`);
        const [uid, gid, groups, nice, core, files, ...rest] = ran.stdout.trim().split('\n');
        expect([uid, gid, nice, core, files]).toEqual(['1000', '1000', '0', '0', '1024']);
        expect(groups?.split(' ').filter((group) => !['1000', '65534'].includes(group))).toEqual([]);
        expect(rest.slice(0, 7)).toEqual([...rights, 'NoNewPrivs: 1', 'lo']);
        expect(Number(rest[7])).toBeLessThan(8);
        expect(rest.slice(8)).toEqual(['1']);
      } finally {
        setPriority(before);
      }
    });

    test('keeps the first bytes of too much output and lets the command go on', async () => {
      const ran = await sh('head -c 3000000 /dev/zero | tr "\\0" x; echo end >&2', {
        policy: { max_stdout_bytes: 1000 },
      });
      expect(ran).toMatchObject({ exitCode: 0, truncated: true, stdout: 'x'.repeat(1000), stderr: 'end\n' });
    });

    const stubborn = [
      'beat() { trap "" TERM HUP INT; while :; do date +%N > "$1"; sleep 0.02; done; }; export -f beat',
      'beat a & setsid bash -c "beat b" & (setsid setsid bash -c "beat c" &) & ',
      'until test -e a && test -e b && test -e c; do sleep 0.02; done; echo up',
    ].join('\n');
    const beats = () => Promise.all(['a', 'b', 'c'].map((of) => readFile(join(folders.work, of), 'utf8')));
    const nothingWrites = async () => {
      const before = await beats();
      await pause(200);
      expect(await beats()).toEqual(before);
    };

    test('what a command leaves behind ends with it, in whichever session', async () => {
      expect(await sh(stubborn)).toMatchObject({ exitCode: 0, stdout: 'up\n', timedOut: false });
      await nothingWrites();
    });

    test('when the time is up all of it ends, what does not want to as well', async () => {
      const ran = await sh(`${stubborn}\nwait`, { policy: { timeout_ms: 3000 } });
      expect(ran).toMatchObject({ timedOut: true, stdout: 'up\n' });
      expect(ran.exitCode).not.toBe(0);
      await nothingWrites();
    });

    test('a stop ends all of it', async () => {
      const stop = new AbortController();
      const running = sh(`${stubborn}\nwait`, { stop: stop.signal });
      const up = async () => {
        for (;;) {
          const isUp = await readFile(join(folders.spool, outputNames.stdout), 'utf8').catch(() => '');
          if (isUp === 'up\n') return;
          await pause(20);
        }
      };
      await pause(50);
      await up();
      stop.abort(new Error('enough'));
      expect(await running).toMatchObject({ timedOut: false });
      await nothingWrites();
    });

    test('one that is stopped before it starts, or must not start, does not run', async () => {
      const refuse = () => Promise.reject(new Error('not recorded'));
      await expect(sh('touch ran', { onStarting: refuse })).rejects.toThrow('not recorded');
      await expect(sh('touch ran', { stop: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow();
      expect((await sh('ls')).stdout).toBe('');
    });

    test('a fork bomb is held by its number of processes, and ends', async () => {
      const policy = { pids: 32, timeout_ms: 3000 };
      const ran = await sh('f() { f | f & }; f; f; sleep 60', { policy });
      expect(ran.exitCode).not.toBe(0);
      const count = [
        'import os, time',
        'made = 0',
        'try:',
        '    while made < 100:',
        '        if os.fork() == 0: time.sleep(60)',
        '        made += 1',
        'except BlockingIOError: print(made)',
      ].join('\n');
      const { stdout, exitCode } = await run(['python3', '-c', count], { policy });
      expect(exitCode).toBe(0);
      expect(Number(stdout)).toBeGreaterThan(24);
      expect(Number(stdout)).toBeLessThan(32);
    });

    test('more memory than allowed is not had; a file past its size is not written', async () => {
      const ran = await run(['python3', '-c', 'x = bytearray(400 * 1024**2); print(len(x))'], {
        policy: { memory_mb: 128 },
      });
      expect(ran.stdout).toBe('');
      expect(ran.exitCode).not.toBe(0);
      const file = await sh('head -c 200000000 /dev/zero > f; stat -c %s f');
      expect(Number(file.stdout)).toBeLessThanOrEqual(64 * 1024 ** 2);
    });

    test('its processes can be found while it runs', async () => {
      let found: readonly string[] = [];
      let looking: Promise<void> = Promise.resolve();
      const look = async ({ processes }: StartingSandbox) => {
        while (found.length < 2) {
          found = await processes.pids();
          await pause(20);
        }
      };
      await sh('sleep 1', {
        onStarting: (sandbox) => {
          looking = look(sandbox);
          return Promise.resolve();
        },
      });
      await looking;
      expect(found.every((pid) => /^\d+$/.test(pid))).toBe(true);
    });

    test('a folder that is a link is not followed out of its place', async () => {
      await run(['true']);
      await rm(folders.work, { recursive: true });
      await symlink('/etc', folders.work);
      await expect(sh('ls')).rejects.toThrow();
    });
  });
}
