import {
  defaultTenant,
  roles as allRoles,
  SecboxError,
  type ApiKey,
  type ExecScope,
  type Role,
  type TenantId,
} from '@secbox/contracts';
import { matchesAny } from './subject-pattern.js';

/** Who asks: what a key stands for, once it was found to hold. */
export interface Principal {
  readonly tenant: TenantId;
  /** The key's id; null where callers are not told apart. */
  readonly actor: string | null;
  readonly roles: readonly Role[];
  /** Whom it may act for; null: anyone of its tenant. */
  readonly userPatterns: readonly string[] | null;
  readonly agentPatterns: readonly string[] | null;
}

export function principalOf(key: ApiKey): Principal {
  return {
    tenant: key.tenant,
    actor: key.key_id,
    roles: key.roles,
    userPatterns: key.user_patterns,
    agentPatterns: key.agent_patterns,
  };
}

/** Everyone, where keys are turned off. */
export const everyone: Principal = {
  tenant: defaultTenant,
  actor: null,
  roles: allRoles,
  userPatterns: null,
  agentPatterns: null,
};

/** Whom a call is made for, inside of a tenant. */
export interface Subject {
  readonly userId: string;
  readonly agentId: string;
}

export function mayActFor({ userPatterns, agentPatterns }: Principal, { userId, agentId }: Subject): boolean {
  return (
    (userPatterns === null || matchesAny(userPatterns, userId)) &&
    (agentPatterns === null || matchesAny(agentPatterns, agentId))
  );
}

/** Throws `subject_forbidden` when the caller's key is limited to others. */
export function assertMayActFor(principal: Principal, subject: Subject): void {
  if (mayActFor(principal, subject)) return;
  throw new SecboxError('subject_forbidden', 'This key may not act for that user and agent.', {
    details: { user_id: subject.userId, agent_id: subject.agentId },
  });
}

/** Whether it may act for some users or agents only. */
export function isLimited({ userPatterns, agentPatterns }: Principal): boolean {
  return userPatterns !== null || agentPatterns !== null;
}

/** Whose execs it sees. */
export function execScopeOf(principal: Principal): ExecScope<TenantId> {
  const { tenant, actor, userPatterns, agentPatterns } = principal;
  return isLimited(principal) ? { tenant, actor, userPatterns, agentPatterns } : tenant;
}

/** Whether it may decide for the whole installation. */
export function isInstallationAdmin({ tenant, roles }: Principal): boolean {
  return tenant === defaultTenant && roles.includes('admin');
}

/** What a call takes: one of these roles; those of the whole installation only in the tenant `default`. */
export interface RequiredAccess {
  readonly roles: readonly Role[];
  readonly scope: 'tenant' | 'installation';
  /** It is about everyone of the tenant: not for a key that is limited to users or agents. */
  readonly ofEveryone?: true;
}

/** Throws `role_required`, `tenant_forbidden` or `subject_forbidden`. */
export function assertAllowed(principal: Principal, { roles, scope, ofEveryone }: RequiredAccess): void {
  if (!roles.some((role) => principal.roles.includes(role))) {
    throw new SecboxError('role_required', `This takes a key with the role ${roles.join(' or ')}.`, {
      details: { roles },
    });
  }
  if (scope === 'installation' && principal.tenant !== defaultTenant) throw otherTenant();
  if (ofEveryone && isLimited(principal)) {
    throw new SecboxError('subject_forbidden', 'This takes a key that is not limited to users or agents.');
  }
}

export function otherTenant(): SecboxError {
  return new SecboxError(
    'tenant_forbidden',
    'Only an administrator of the installation may ask for more than the own tenant.',
  );
}
