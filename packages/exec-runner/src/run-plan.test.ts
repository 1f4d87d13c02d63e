import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { PassThrough } from 'node:stream';
import { StopReason } from './exec-outcome.js';
import { Progress } from './progress.js';
import type { RunResult } from './run-container.js';
import { runPlan, type PlanRun } from './run-plan.js';

let spool: string;
let artifacts: string;
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'secbox-plan-'));
  spool = join(folder, 'spool');
  artifacts = join(folder, 'artifacts');
  await mkdir(spool);
  await mkdir(artifacts);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
});
afterEach(async () => {
  jest.useRealTimers();
  await rm(join(spool, '..'), { recursive: true });
});

/** A plan over a layered skill whose program is over at once; what it left is not looked at here. */
function layeredRun(
  stop: AbortSignal,
  end: (stop: AbortSignal) => Promise<null>,
  result: Partial<RunResult> = {},
): PlanRun {
  const mounts = { inputs: '', work: '', artifacts };
  const values = { max_stdout_bytes: 1, max_stderr_bytes: 1, max_artifacts_bytes_total: 1 };
  const run = {
    plan: {
      execId: newExecId(),
      projectId: 'p',
      sandbox: 'subprocess',
      layer: { kind: 'skill' },
      policy: { values },
    },
    stop,
    progress: new Progress(),
    submission: { created_at: new Date().toISOString() },
    takeInputs: () => [],
    logger: createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() }),
    abandon: new AbortController().signal,
    workspace: { foldersOf: () => ({ mounts, spool, artifacts }), inputsOf: () => ({ list: () => [] }) },
    inputsGuard: {
      during: (
        _place: unknown,
        _entry: unknown,
        work: (others: [], wasAccompanied: () => boolean) => unknown,
      ) => work([], () => false),
    },
    admit: (work: () => unknown) => work(),
    hasStarted: () => true,
    disk: { during: (_exec: unknown, work: () => unknown) => work() },
    layered: {
      during: (_place: unknown, _mounts: unknown, { work }: { work: (exec: object) => unknown }) =>
        work({ mounts, start: {}, end }),
    },
    sandboxes: { subprocess: () => ({ run: () => Promise.resolve(result) }) },
  };
  return run as unknown as PlanRun;
}

/** What is given to whoever looks through the files that the exec left. */
async function givenDeadline(stop: AbortSignal): Promise<AbortSignal> {
  const over = new Error('seen');
  let given: AbortSignal | undefined;
  const run = layeredRun(stop, (deadline) => {
    given = deadline;
    return Promise.reject(over);
  });
  await expect(runPlan(run)).rejects.toBe(over);
  if (!given) throw new Error('No deadline was given.');
  return given;
}

test('what an exec left over a skill is looked through for half a minute at most', async () => {
  const deadline = await givenDeadline(new AbortController().signal);
  await jest.advanceTimersByTimeAsync(29_000);
  expect(deadline.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(2000);
  expect(deadline.aborted).toBe(true);
});

test('and for a few seconds when somebody stops it', async () => {
  const stop = new AbortController();
  const deadline = await givenDeadline(stop.signal);
  stop.abort();
  await jest.advanceTimersByTimeAsync(4000);
  expect(deadline.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(2000);
  expect(deadline.aborted).toBe(true);
});

test.each<[string, Partial<RunResult>, object]>([
  ['failed', { exitCode: 1, signal: null }, { status: 'failed', exit_code: 1 }],
  ['died of a signal', { exitCode: 139, signal: 11 }, { status: 'failed', signal: 'SIGSEGV' }],
  [
    'had no memory',
    { exitCode: 137, signal: 9, outOfMemory: true },
    { status: 'oom_killed', signal: 'SIGKILL' },
  ],
])(
  'one that %s and is stopped while what it left is looked through has ended before',
  async (_how, end, told) => {
    const stop = new AbortController();
    const lookThrough = () => {
      stop.abort(new StopReason('cancelled', 'cancelled by a caller'));
      return Promise.resolve(null);
    };
    const { ended } = await runPlan(layeredRun(stop.signal, lookThrough, { failure: null, ...end }));
    expect(ended).toMatchObject({ ...told, error_reason: null });
  },
);
