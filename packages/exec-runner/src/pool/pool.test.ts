import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ContainerEngine, OutputChunk } from '@secbox/container-engine';
import type { Slot, Slots } from '@secbox/host-mounts';
import { createLogger } from '@secbox/logging';
import { newSlotId, type WorkspaceMounts } from '@secbox/workspace';
import { PassThrough } from 'node:stream';
import { Pool } from './pool.js';
import type { WarmSpec } from './warm-container.js';

const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const mounts = { inputs: '', work: '', artifacts: '' } as unknown as WorkspaceMounts;
const usual: WarmSpec = {
  imageId: 'i',
  runtime: 'runc',
  memoryBytes: 1,
  cpus: 1,
  pids: 1,
  readOnlyRoot: true,
  maxFileBytes: 1,
};
/** What an init says that has nothing to start ahead. */
const ready = Buffer.from('Sb\x01\0\0\0\0\x0c' + '\0\x01\0\0' + '\0\x10\0\0' + '\0\x01\0\0', 'latin1');

type Step = 'create' | 'attach' | 'start' | 'remove' | 'setLimits';

/** An engine of which some steps get no answer before they are let. */
class HangingEngine implements Pick<ContainerEngine, Step> {
  readonly present = new Set<string>();
  hanging: readonly Step[] = [];
  #made = 0;
  #waiting: (() => void)[] = [];

  /** Answers everything that it was asked for. */
  answer(): void {
    this.hanging = [];
    for (const goOn of this.#waiting.splice(0)) goOn();
  }

  async create() {
    await this.#unlessHanging('create');
    this.#made += 1;
    this.present.add(`c${this.#made}`);
    return `c${this.#made}`;
  }

  async attach() {
    await this.#unlessHanging('attach');
    return { input: new PassThrough().resume(), output: spoken(), close: () => undefined };
  }

  start() {
    return this.#unlessHanging('start');
  }

  setLimits() {
    return this.#unlessHanging('setLimits');
  }

  async remove(id: string) {
    await this.#unlessHanging('remove');
    this.present.delete(id);
  }

  #unlessHanging(step: Step): Promise<void> {
    return this.hanging.includes(step)
      ? new Promise((goOn) => void this.#waiting.push(goOn))
      : Promise.resolve();
  }
}

async function* spoken(): AsyncGenerator<OutputChunk> {
  yield await Promise.resolve({ stream: 'stdout', data: ready } as const);
  await new Promise(() => undefined);
}

let engine: HangingEngine;
let slotsThere: number;
let pool: Pool;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  engine = new HangingEngine();
  slotsThere = 0;
  pool = new Pool({
    engine: engine as unknown as ContainerEngine,
    slots: { make: () => Promise.resolve(makeSlot()) } as unknown as Slots,
    workspace: { slotMounts: () => mounts },
    dataDir: '/data',
    logger,
    usual: () => Promise.resolve(usual),
    size: () => 1,
  });
});
afterEach(async () => {
  engine.answer();
  await pool.close();
  jest.useRealTimers();
});

function makeSlot(): Slot {
  slotsThere += 1;
  const remove = () => Promise.resolve(void (slotsThere -= 1));
  return { id: newSlotId(), fill: () => Promise.resolve(), remove } as unknown as Slot;
}

const pass = (seconds: number) => jest.advanceTimersByTimeAsync(seconds * 1000);

async function isOverWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  let over = false;
  work.then(
    () => (over = true),
    () => (over = true),
  );
  await pass(seconds);
  return over;
}

describe('an engine that takes calls and does not answer', () => {
  test('keeps no server from stopping that has a container waiting', async () => {
    pool.begin();
    await pass(1);
    expect(pool.figures().waiting).toBe(1);
    engine.hanging = ['remove'];
    expect(await isOverWithin(11, pool.close())).toBe(true);
  });

  test.each(['create', 'attach', 'start'] as const)(
    'at %s keeps no server from stopping, nor a container that waits from being removed',
    async (step) => {
      engine.hanging = [step];
      pool.begin();
      await pass(1);
      expect(await isOverWithin(11, pool.close())).toBe(true);
      engine.answer();
      await pass(20);
      expect([...engine.present]).toEqual([]);
      expect(slotsThere).toBe(0);
    },
  );

  test.each(['create', 'attach', 'start'] as const)(
    'at %s is told of and given up: whoever waits for the container makes its own, and the pool fills later',
    async (step) => {
      engine.hanging = [step];
      pool.begin();
      await pass(1);
      const taken = pool.take(usual);
      expect(await isOverWithin(20, taken)).toBe(true);
      expect(await taken).toBeUndefined();
      expect(pool.figures()).toMatchObject({ waiting: 0, last_error: expect.stringContaining(`(${step})`) });
      engine.answer();
      await pass(20);
      expect(pool.figures()).toMatchObject({ waiting: 1, starting: 0, last_error: null });
      expect(engine.present.size).toBe(1);
      expect(slotsThere).toBe(1);
    },
  );

  test('at a removal is asked again', async () => {
    pool.begin();
    await pass(1);
    const taken = await pool.take(usual);
    if (!taken) throw new Error('none waited');
    engine.hanging = ['remove'];
    pool.discard(taken);
    await pass(16);
    engine.hanging = [];
    await pass(5);
    expect(pool.has(taken.id)).toBe(false);
  });

  test('at new limits holds the exec up no longer than a container of its own would', async () => {
    pool.begin();
    await pass(1);
    const taken = await pool.take(usual);
    engine.hanging = ['setLimits'];
    const preparing = taken?.prepare(mounts, { ...usual, memoryBytes: 2 });
    preparing?.catch(() => undefined);
    expect(await isOverWithin(16, Promise.resolve(preparing))).toBe(true);
    await expect(preparing).rejects.toMatchObject({ code: 'engine_unavailable' });
    if (taken) pool.discard(taken);
  });
});
