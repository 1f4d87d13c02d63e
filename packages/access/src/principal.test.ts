import { describe, expect, test } from '@jest/globals';
import { parseTenantId, roles, type Role } from '@secbox/contracts';
import { assertAllowed, assertMayActFor, everyone, isInstallationAdmin, mayActFor } from './principal.js';

const acme = parseTenantId('acme');

describe('roles', () => {
  test('each is its own: none stands for another', () => {
    for (const has of roles) {
      for (const needed of roles) {
        const call = () => assertAllowed({ ...everyone, roles: [has] }, { roles: [needed], scope: 'tenant' });
        if (has === needed) call();
        else
          expect(call).toThrow(
            expect.objectContaining({ code: 'role_required', details: { roles: [needed] } }),
          );
      }
    }
  });

  test('those of the installation hold in the tenant default only', () => {
    const needed = { roles: ['admin'] as Role[], scope: 'installation' as const };
    assertAllowed(everyone, needed);
    expect(() => assertAllowed({ ...everyone, tenant: acme }, needed)).toThrow(
      expect.objectContaining({ code: 'tenant_forbidden' }),
    );
    expect(isInstallationAdmin({ ...everyone, tenant: acme })).toBe(false);
    expect(isInstallationAdmin({ ...everyone, roles: ['auditor'] })).toBe(false);
  });
});

describe('whom a key may act for', () => {
  const limited = { ...everyone, userPatterns: ['alice', 'team-*', '*@corp.*.org'], agentPatterns: null };

  test.each(['alice', 'team-', 'team-7', 'bob@corp.eu.org', '@corp..org'])('user %s: yes', (userId) => {
    expect(mayActFor(limited, { userId, agentId: 'any' })).toBe(true);
  });

  test.each(['Alice', 'alice2', 'team', 'xteam-7', 'bob@corp.org', 'bob@corp.eu.org.evil', ''])(
    'user %p: no',
    (userId) => {
      expect(mayActFor(limited, { userId, agentId: 'any' })).toBe(false);
      expect(() => assertMayActFor(limited, { userId, agentId: 'any' })).toThrow(
        expect.objectContaining({ code: 'subject_forbidden' }),
      );
    },
  );

  test('both the user and the agent must fit', () => {
    const both = { ...everyone, userPatterns: ['u*'], agentPatterns: ['a*'] };
    expect(mayActFor(both, { userId: 'u1', agentId: 'a1' })).toBe(true);
    expect(mayActFor(both, { userId: 'u1', agentId: 'b1' })).toBe(false);
    expect(mayActFor(both, { userId: 'v1', agentId: 'a1' })).toBe(false);
  });

  test('a hostile pattern takes no time', () => {
    const hostile = { ...everyone, userPatterns: [`${'*a'.repeat(63)}b`] };
    const begun = performance.now();
    expect(mayActFor(hostile, { userId: 'a'.repeat(100_000), agentId: 'x' })).toBe(false);
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});
