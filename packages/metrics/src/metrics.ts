/** The values that tell the series of one metric apart; few and known beforehand, never a caller's text. */
export type Labels = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: Labels, by?: number): void;
}

export interface Histogram {
  observe(value: number, labels?: Labels): void;
}

/** One value, or one for each of several series. */
export type Reading = number | readonly { readonly labels: Labels; readonly value: number }[];

export interface MetricOptions {
  /** With its unit: `secbox_exec_duration_seconds`. */
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

/** Where parts put their figures. A name is given out once. */
export interface Metrics {
  counter(options: MetricOptions): Counter;
  histogram(options: MetricOptions & { readonly buckets: readonly number[] }): Histogram;
  /** Read whenever somebody asks. */
  gauge(options: MetricOptions, read: () => Reading): void;
}
