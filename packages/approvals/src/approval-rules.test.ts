import { expect, test } from '@jest/globals';
import type { ApprovalSettings } from '@secbox/contracts';
import { requirementFor, type ApprovalSubject } from './approval-rules.js';

const plain: ApprovalSubject = { tenant: 'default', skillId: null, skillAsks: false };
const skill = (skillId: string, skillAsks = false): ApprovalSubject => ({ ...plain, skillId, skillAsks });

test('nothing is asked where no rule is set, or none that could hold', () => {
  const none: (ApprovalSettings | undefined)[] = [
    undefined,
    {},
    { from_level: null },
    { skills: ['a.b'] },
    { auto_approve: true },
    { tenants: { other: { from_level: 'SAFE' } } },
  ];
  for (const settings of none) expect(requirementFor(settings, plain)).toBeUndefined();
});

test('from a level on it depends on what is found; from SAFE on it does not', () => {
  expect(requirementFor({ from_level: 'HIGH' }, plain)).toEqual({ always: undefined, fromLevel: 'HIGH' });
  expect(requirementFor({ from_level: 'SAFE' }, plain)?.always).toMatch(/everything/);
});

test('a skill is named by Settings, or asks itself, whatever Settings say', () => {
  expect(requirementFor({ skills: ['a.b'] }, skill('a.b'))?.always).toMatch(/Settings/);
  expect(requirementFor({ skills: ['a.b'] }, skill('a.c'))).toBeUndefined();
  for (const settings of [undefined, {}, { from_level: null, skills: [] }]) {
    expect(requirementFor(settings, skill('a.b', true))?.always).toMatch(/manifest/);
  }
});

test('what a tenant has of its own takes the place of that, and the rest holds', () => {
  const settings: ApprovalSettings = {
    from_level: 'HIGH',
    skills: ['a.b'],
    tenants: { acme: { from_level: null }, strict: { from_level: 'LOW', skills: [] } },
  };
  const of = (tenant: string, skillId: string | null) =>
    requirementFor(settings, { ...plain, tenant, skillId });
  expect(of('acme', null)).toBeUndefined();
  expect(of('acme', 'a.b')?.always).toMatch(/Settings/);
  expect(of('strict', 'a.b')).toEqual({ always: undefined, fromLevel: 'LOW' });
  expect(of('constructor', null)).toEqual({ always: undefined, fromLevel: 'HIGH' });
});
