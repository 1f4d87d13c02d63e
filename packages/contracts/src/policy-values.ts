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

/** The numbers that have a ceiling. */
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

export const policyAuthorities = [...policyLayers, 'hard', 'engine'] as const;

/** Who can be the reason for a value or a ceiling: a layer, the built-in ceiling or the engine's capacity. */
export type PolicyAuthority = (typeof policyAuthorities)[number];

/** The loosest value that was allowed, and who drew that line. */
export interface PolicyCeiling<Value> {
  readonly value: Value;
  readonly layer: PolicyAuthority;
}

/** A merged policy with where each value came from; kept with the exec for ever. */
export interface PolicySnapshot {
  readonly values: PolicyValues;
  /** `read_only_root: true` is the tighter value: a ceiling of false means that it may be turned off. */
  readonly ceilings: Readonly<Record<LimitField, PolicyCeiling<number>>> & {
    readonly read_only_root: PolicyCeiling<boolean>;
  };
  /**
   * Whose word each value is. A layer that repeats what already held is not its source; a value that was cut
   * down to a ceiling has the one who set that ceiling.
   */
  readonly sources: Readonly<Record<LimitField | 'net.mode' | 'read_only_root', PolicyAuthority>>;
  /** What the container is made with. No request and no skill has a word in it. */
  readonly runtime: { readonly value: string; readonly layer: 'settings' | 'engine' };
  /** 0 when no Settings were ever stored. */
  readonly settings_version: number;
}
