/** What a key sees that is limited to users and agents: their execs, and those that it asked for itself. */
export interface LimitedScope<Tenant extends string = string> {
  readonly tenant: Tenant;
  /** The key. */
  readonly actor: string | null;
  /** `*` stands for any text; null: any user. */
  readonly userPatterns: readonly string[] | null;
  readonly agentPatterns: readonly string[] | null;
}

/** Whose execs a question is about: all of a tenant, or those that a limited key sees. */
export type ExecScope<Tenant extends string = string> = Tenant | LimitedScope<Tenant>;

export function tenantOfScope<Tenant extends string>(scope: ExecScope<Tenant>): Tenant {
  return typeof scope === 'string' ? scope : scope.tenant;
}
