import type { LimitField, NetMode } from '@secbox/contracts';

/** The ordered part of a layer: what can be tighter or looser. */
export type PolicyLimits = { readonly [Field in LimitField]?: number } & {
  readonly read_only_root?: boolean;
};

/** What one layer says; it is silent about the rest. */
export type PolicyOverrides = PolicyLimits & { readonly net?: { readonly mode: NetMode } };

/** The administrator's part in a policy, of one stored version. */
export interface PolicySettings {
  readonly version: number;
  /** What holds where neither manifest nor request says anything. */
  readonly values: PolicyOverrides;
  /** The loosest that manifests and requests may ask for. */
  readonly ceilings: PolicyLimits;
  readonly runtime?: string | undefined;
}
