import { describe, expect, test } from '@jest/globals';
import { PrometheusMetrics } from './prometheus-metrics.js';
import { timedCalls } from './timed-calls.js';

describe('metrics', () => {
  test('are told as Prometheus reads them, with those of the process and the event loop', async () => {
    const metrics = new PrometheusMetrics();
    const counter = metrics.counter({ name: 'x_total', help: 'Xs.', labels: ['kind'] });
    counter.add({ kind: 'a' });
    counter.add({ kind: 'a' }, 2);
    metrics.histogram({ name: 'y_seconds', help: 'Ys.', buckets: [1, 2] }).observe(1.5);
    let value = 3;
    metrics.gauge({ name: 'z', help: 'Zs.' }, () => value);
    metrics.gauge({ name: 'w', help: 'Ws.', labels: ['of'] }, () => [{ labels: { of: 'b' }, value: 5 }]);
    value = 4;
    const text = await metrics.render();
    for (const line of ['x_total{kind="a"} 3', 'y_seconds_bucket{le="2"} 1', 'z 4', 'w{of="b"} 5']) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d/m);
    expect(metrics.contentType).toContain('text/plain');
  });

  test('two registries do not meet', () => {
    for (let n = 0; n < 2; n += 1) new PrometheusMetrics().counter({ name: 'x_total', help: 'Xs.' });
  });
});

describe('timed calls', () => {
  class Store {
    readonly #secret = 7;
    name = 'store';
    ask(n: number): Promise<number> {
      return n < 0 ? Promise.reject(new Error('negative')) : Promise.resolve(this.#secret * n);
    }
    plain(): number {
      return this.#secret;
    }
  }

  test('pass everything on, and count what took how long and what failed', async () => {
    const metrics = new PrometheusMetrics();
    const labels = ['store', 'call'];
    const store = timedCalls(new Store(), {
      seconds: metrics.histogram({ name: 'call_seconds', help: 'Calls.', labels, buckets: [1] }),
      failures: metrics.counter({ name: 'call_failures_total', help: 'Failures.', labels }),
      labels: { store: 's' },
    });
    expect(await store.ask(6)).toBe(42);
    await expect(store.ask(-1)).rejects.toThrow('negative');
    expect([store.plain(), store.name]).toEqual([7, 'store']);
    const text = await metrics.render();
    expect(text).toContain('call_seconds_count{store="s",call="ask"} 2');
    expect(text).toContain('call_failures_total{store="s",call="ask"} 1');
    expect(text).not.toContain('plain');
  });
});
