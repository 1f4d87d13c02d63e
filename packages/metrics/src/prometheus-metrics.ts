import {
  collectDefaultMetrics,
  Counter as PromCounter,
  Gauge as PromGauge,
  Histogram as PromHistogram,
  Registry,
} from 'prom-client';
import type { Counter, Histogram, MetricOptions, Metrics, Reading } from './metrics.js';

/** Figures in a registry of their own, told as Prometheus reads them; those of the process and its event loop among them. */
export class PrometheusMetrics implements Metrics {
  readonly #registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.#registry });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All figures of this moment. */
  render(): Promise<string> {
    return this.#registry.metrics();
  }

  counter(options: MetricOptions): Counter {
    const counter = new PromCounter({ ...this.#common(options) });
    return { add: (labels = {}, by = 1) => counter.inc({ ...labels }, by) };
  }

  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): Histogram {
    const histogram = new PromHistogram({ ...this.#common(options), buckets: [...options.buckets] });
    return { observe: (value, labels = {}) => histogram.observe({ ...labels }, value) };
  }

  gauge(options: MetricOptions, read: () => Reading): void {
    const gauge: PromGauge = new PromGauge({
      ...this.#common(options),
      collect: () => {
        const reading = read();
        if (typeof reading === 'number') {
          gauge.set(reading);
          return;
        }
        gauge.reset();
        for (const { labels, value } of reading) gauge.set({ ...labels }, value);
      },
    });
  }

  #common({ name, help, labels = [] }: MetricOptions) {
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }
}
