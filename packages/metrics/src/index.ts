export type { Counter, Histogram, Labels, MetricOptions, Metrics, Reading } from './metrics.js';
export { PrometheusMetrics } from './prometheus-metrics.js';
export { timedCalls, type TimedCallsOptions } from './timed-calls.js';
