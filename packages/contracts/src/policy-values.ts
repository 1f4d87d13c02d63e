/** What a merged policy says about one exec: the names of the wire and of seed settings. */
export interface PolicyValues {
  readonly net: { readonly mode: NetMode };
  readonly timeout_ms: number;
  readonly max_stdout_bytes: number;
  readonly max_stderr_bytes: number;
  readonly max_artifacts_bytes_total: number;
  readonly memory_mb: number;
  readonly cpu_cores: number;
  readonly pids: number;
  readonly read_only_root: boolean;
}

export type NetMode = 'none';

/** The fields that have a ceiling. */
export const limitFields = [
  'timeout_ms',
  'max_stdout_bytes',
  'max_stderr_bytes',
  'max_artifacts_bytes_total',
  'memory_mb',
  'cpu_cores',
  'pids',
] as const satisfies readonly (keyof PolicyValues)[];

export type LimitField = (typeof limitFields)[number];

export const policyLayers = ['system', 'settings', 'manifest', 'request'] as const;

/** Who set a value, from the least to the most specific. */
export type PolicyLayer = (typeof policyLayers)[number];

/** A merged policy with where each value came from; kept with the exec for ever. */
export interface PolicySnapshot {
  readonly values: PolicyValues;
  readonly ceilings: Readonly<
    Record<LimitField, { readonly value: number; readonly layer: PolicyLayer | 'hard' | 'engine' }>
  >;
  readonly sources: Readonly<Record<LimitField | 'net.mode' | 'read_only_root', PolicyLayer>>;
  readonly settings_version: number;
}
