import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Admission, type AdmissionLimits } from './admission.js';

/** A signal of its own for each: nobody stops anybody. */
const never = () => new AbortController().signal;

/** An admission whose work ends when told, with what has begun so far. */
function controlled(limits: Partial<AdmissionLimits>) {
  const admission = new Admission({ maxConcurrent: 2, maxMemoryMb: 1000, maxQueued: 100, ...limits });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const ask = (name: string, project = 'p', memoryMb = 1, stop = never(), tenant = 't') =>
    admission.reserve(tenant).admit({ tenant, project, memoryMb, stop }, async () => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const settled = async () => {
    for (let n = 0; n < 20; n += 1) await Promise.resolve();
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  const askAs = (tenant: string, name: string, project = 'p') => ask(name, project, 1, never(), tenant);
  return { admission, begun, ask, askAs, end, settled };
}

describe('admission', () => {
  test('lets so many in at once, and the next when one has ended', async () => {
    const { begun, ask, end, settled } = controlled({});
    const asked = ['a', 'b', 'c'].map((name) => ask(name));
    await settled();
    expect(begun).toEqual(['a', 'b']);
    await end('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    await end('a');
    await end('c');
    expect(await Promise.all(asked)).toEqual(['a', 'b', 'c']);
  });

  test('serves the projects in turn', async () => {
    const { begun, ask, end, settled } = controlled({ maxConcurrent: 1 });
    for (const name of ['x1', 'x2', 'x3', 'x4']) void ask(name, 'x');
    for (const name of ['y1', 'y2']) void ask(name, 'y');
    void ask('z1', 'z');
    await settled();
    for (let n = 0; n < 7; n += 1) await end(begun.at(-1) ?? '');
    expect(begun).toEqual(['x1', 'y1', 'z1', 'x2', 'y2', 'x3', 'x4']);
  });

  test('adds up memory, and lets a small one of another project pass one that does not fit', async () => {
    const { begun, ask, end, settled } = controlled({ maxConcurrent: 4, maxMemoryMb: 100 });
    void ask('half', 'a', 60);
    void ask('large', 'b', 80);
    void ask('small', 'c', 30);
    await settled();
    expect(begun).toEqual(['half', 'small']);
    await end('half');
    expect(begun).toEqual(['half', 'small']);
    await end('small');
    expect(begun).toEqual(['half', 'small', 'large']);
    await end('large');
  });

  test('one that does not fit is passed so often only, however many small ones come', async () => {
    const { begun, ask, end, settled } = controlled({ maxConcurrent: 4, maxMemoryMb: 100 });
    void ask('s0', 'a', 30);
    void ask('large', 'b', 80);
    for (let n = 1; n < 40; n += 1) void ask(`s${n}`, `c${n % 3}`, 30);
    await settled();
    let running = [...begun];
    while (!begun.includes('large') && begun.length < 40) {
      const known = begun.length;
      await end(running.shift() ?? '');
      running = [...running, ...begun.slice(known)];
    }
    expect(begun.indexOf('large')).toBeLessThan(20);
    expect(running).toEqual(['large']);
    await end('large');
    expect(begun.length).toBeGreaterThan(20);
  });

  test('those who were kept waiting for one that does not fit go on when it leaves', async () => {
    const { begun, ask, end, settled } = controlled({ maxConcurrent: 4, maxMemoryMb: 100 });
    const leaving = new AbortController();
    void ask('long', 'a', 30);
    const large = ask('large', 'b', 80, leaving.signal);
    for (let n = 0; n < 20; n += 1) void ask(`s${n}`, `c${n}`, 30);
    await settled();
    for (let n = 0; n < 20; n += 1) await end(`s${n}`);
    const last = begun.length;
    expect(last).toBeLessThan(20);
    leaving.abort(new Error('cancelled'));
    await expect(large).rejects.toThrow('cancelled');
    await settled();
    expect(begun.length).toBe(last + 2);
  });

  test('one that needs more than there is runs alone', async () => {
    const { begun, ask, end, settled } = controlled({ maxConcurrent: 4, maxMemoryMb: 100 });
    void ask('huge', 'a', 500);
    void ask('small', 'b', 1);
    await settled();
    expect(begun).toEqual(['huge']);
    await end('huge');
    expect(begun).toEqual(['huge', 'small']);
    await end('small');
  });

  test('a full queue is told at once (case 59)', async () => {
    const { ask, end, settled, begun } = controlled({ maxConcurrent: 1, maxQueued: 2 });
    for (const name of ['a', 'b', 'c']) void ask(name);
    await settled();
    expect(() => ask('d')).toThrow(expect.objectContaining({ code: 'queue_full', kind: 'rate_limited' }));
    await end('a');
    void ask('e');
    await end('b');
    await end('c');
    await end('e');
    expect(begun).toEqual(['a', 'b', 'c', 'e']);
  });

  test('new limits hold at once for those who wait', async () => {
    const { admission, begun, ask, end, settled } = controlled({ maxConcurrent: 1, maxMemoryMb: 10 });
    for (const name of ['a', 'b', 'c']) void ask(name, 'p', 6);
    await settled();
    expect(begun).toEqual(['a']);
    admission.update({ maxConcurrent: 3, maxMemoryMb: 10, maxQueued: 5 });
    await settled();
    expect(begun).toEqual(['a']);
    admission.update({ maxConcurrent: 3, maxMemoryMb: 12, maxQueued: 5 });
    await settled();
    expect(begun).toEqual(['a', 'b']);
    for (const name of ['a', 'b', 'c']) await end(name);
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  test('a place that was given up is free again', () => {
    const { admission } = controlled({ maxConcurrent: 1, maxQueued: 0 });
    const reservation = admission.reserve('t');
    expect(() => admission.reserve('t')).toThrow(expect.objectContaining({ code: 'queue_full' }));
    reservation.release();
    reservation.release();
    admission.reserve('t').release();
  });

  test('who is stopped while waiting leaves at once and never begins', async () => {
    const { admission, begun, ask, end, settled } = controlled({ maxConcurrent: 1 });
    const stop = new AbortController();
    void ask('a');
    const stopped = ask('b', 'q', 1, stop.signal);
    await settled();
    stop.abort(new Error('asked to'));
    await expect(stopped).rejects.toThrow('asked to');
    expect(admission.queued).toBe(0);
    await end('a');
    expect(begun).toEqual(['a']);
  });

  test('whoever was stopped before it asks is not kept waiting', async () => {
    const { admission, ask, end } = controlled({ maxConcurrent: 1 });
    void ask('running');
    const stop = AbortSignal.abort(new Error('cancelled'));
    const asking = admission
      .reserve('t')
      .admit({ tenant: 't', project: 'p', memoryMb: 1, stop }, () => Promise.resolve());
    await expect(asking).rejects.toThrow('cancelled');
    expect(admission.queued).toBe(0);
    await end('running');
  });

  test('work that fails frees its place', async () => {
    const { admission, ask, end, begun } = controlled({ maxConcurrent: 1 });
    const failing = admission
      .reserve('t')
      .admit({ tenant: 't', project: 'p', memoryMb: 1, stop: never() }, () =>
        Promise.reject(new Error('broken')),
      );
    await expect(failing).rejects.toThrow('broken');
    void ask('next');
    await end('next');
    expect(begun).toEqual(['next']);
  });

  test('never more at once than allowed, and everyone gets in', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            tenant: fc.constantFrom('t', 'u'),
            project: fc.constantFrom('a', 'b', 'c'),
            memory: fc.integer({ min: 1, max: 150 }),
          }),
          {
            maxLength: 30,
          },
        ),
        async (asks) => {
          const admission = new Admission({
            maxConcurrent: 3,
            maxMemoryMb: 100,
            maxQueued: 1000,
            tenantLimits: () => ({ maxConcurrent: 2 }),
          });
          const of: Record<string, number> = { t: 0, u: 0 };
          let running = 0;
          let memory = 0;
          let done = 0;
          await Promise.all(
            asks.map(({ tenant, project, memory: memoryMb }) =>
              admission.reserve(tenant).admit({ tenant, project, memoryMb, stop: never() }, async () => {
                of[tenant] = (of[tenant] ?? 0) + 1;
                expect(of[tenant]).toBeLessThanOrEqual(2);
                running += 1;
                memory += memoryMb;
                expect(running).toBeLessThanOrEqual(3);
                if (running > 1) expect(memory).toBeLessThanOrEqual(100);
                await Promise.resolve();
                of[tenant] -= 1;
                running -= 1;
                memory -= memoryMb;
                done += 1;
              }),
            ),
          );
          expect(done).toBe(asks.length);
          expect([admission.queued, admission.running]).toEqual([0, 0]);
        },
      ),
    );
  });

  describe('between tenants', () => {
    test('they are served in turn, and the projects of each in turn', async () => {
      const { begun, askAs, end, settled } = controlled({ maxConcurrent: 1 });
      for (const name of ['a1', 'a2', 'a3']) void askAs('a', name, 'x');
      void askAs('a', 'a4', 'y');
      for (const name of ['b1', 'b2']) void askAs('b', name);
      await settled();
      for (let n = 0; n < 6; n += 1) await end(begun.at(-1) ?? '');
      expect(begun).toEqual(['a1', 'b1', 'a4', 'b2', 'a2', 'a3']);
    });

    test('one at its limit leaves the other places to others, also to those who come later', async () => {
      const { begun, askAs, end, settled } = controlled({
        maxConcurrent: 3,
        tenantLimits: (tenant) => ({ maxConcurrent: tenant === 'a' ? 1 : undefined }),
      });
      for (const name of ['a1', 'a2', 'a3', 'a4']) void askAs('a', name);
      await settled();
      expect(begun).toEqual(['a1']);
      for (const name of ['b1', 'b2', 'b3']) void askAs('b', name);
      await settled();
      expect(begun).toEqual(['a1', 'b1', 'b2']);
      await end('a1');
      expect(begun).toEqual(['a1', 'b1', 'b2', 'a2']);
      for (const name of ['b1', 'b2', 'b3', 'a2', 'a3', 'a4']) await end(name);
      expect(begun).toEqual(['a1', 'b1', 'b2', 'a2', 'b3', 'a3', 'a4']);
    });

    test('one with a full queue is told so, others are not (case 59)', async () => {
      const { askAs, end, settled, begun } = controlled({
        maxConcurrent: 2,
        maxQueued: 10,
        tenantLimits: (tenant) => (tenant === 'a' ? { maxConcurrent: 1, maxQueued: 1 } : {}),
      });
      for (const name of ['a1', 'a2']) void askAs('a', name);
      await settled();
      expect(() => askAs('a', 'a3')).toThrow(
        expect.objectContaining({ code: 'queue_full', details: expect.objectContaining({ max_queued: 1 }) }),
      );
      void askAs('b', 'b1');
      await end('a1');
      void askAs('a', 'a3');
      for (const name of ['a2', 'b1', 'a3']) await end(name);
      expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
    });

    test('a new limit of a tenant holds at once', async () => {
      const { admission, begun, askAs, end, settled } = controlled({
        tenantLimits: () => ({ maxConcurrent: 1 }),
      });
      for (const name of ['a1', 'a2']) void askAs('a', name);
      await settled();
      expect(begun).toEqual(['a1']);
      admission.update({ maxConcurrent: 2, maxMemoryMb: 1000, maxQueued: 5 });
      await settled();
      expect(begun).toEqual(['a1', 'a2']);
      for (const name of ['a1', 'a2']) await end(name);
    });
  });
});
