import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { newExecId, SecboxError } from '@secbox/contracts';
import { untilStarted, type WaitingRun } from './until-started.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
const odd = new Error('the disk could not be mounted');

interface Given extends Partial<WaitingRun> {
  /** One for each try that fails; the next one succeeds. */
  readonly failures: readonly Error[];
}

function waiting({ failures, ...more }: Given) {
  const told: string[] = [];
  const left = [...failures];
  const run: WaitingRun = {
    plan: { execId: newExecId() },
    logger: { warn: (event) => told.push(event) },
    disk: { hasRoom: () => true },
    stop: new AbortController().signal,
    hasStarted: () => false,
    ...more,
  };
  const running = untilStarted(run, () => {
    const failure = left.shift();
    return failure ? Promise.reject(failure) : Promise.resolve('ran');
  });
  running.catch(() => undefined);
  return { running, told, left };
}

test.each([
  ['the engine is away', new SecboxError('engine_unavailable', 'away')],
  ['the database is away', new SecboxError('database_unavailable', 'away')],
  ['the floor does not hold', new SecboxError('disk_full', 'full')],
  ['the disk has no room for one of its files', full],
])('while %s, it is tried again, and told once', async (_when, failure) => {
  const { running, told } = waiting({ failures: [failure, failure, failure] });
  await jest.advanceTimersByTimeAsync(3000);
  await expect(running).resolves.toBe('ran');
  expect(told).toEqual(['exec.waits']);
});

test.each([
  ['a fault', odd],
  ['what is not there', new SecboxError('work_unavailable', 'not mounted')],
])('while the disk has no room, %s is tried again until it has', async (_what, failure) => {
  let room = false;
  const failures = [failure, failure, failure];
  const { running, left } = waiting({ failures, disk: { hasRoom: () => room } });
  await jest.advanceTimersByTimeAsync(1000);
  expect(left).toHaveLength(1);
  room = true;
  await jest.advanceTimersByTimeAsync(1000);
  await expect(running).rejects.toBe(failure);
});

test.each([
  [
    'a request that is wrong',
    new SecboxError('invalid_request', 'wrong'),
    { disk: { hasRoom: () => false } },
  ],
  ['a fault of ours', odd, {}],
  ['whatever fails once it has started', full, { hasStarted: () => true }],
])('%s is not tried again', async (_what, failure, more) => {
  const { running, told } = waiting({ failures: [failure], ...more });
  await expect(running).rejects.toBe(failure);
  expect(told).toEqual([]);
});

test('whoever stops it is heard at once', async () => {
  const stop = new AbortController();
  const { running } = waiting({ failures: [full, full], stop: stop.signal });
  await jest.advanceTimersByTimeAsync(1);
  const reason = new Error('cancelled');
  stop.abort(reason);
  await jest.advanceTimersByTimeAsync(1);
  await expect(running).rejects.toBe(reason);
});
