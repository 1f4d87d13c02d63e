import { describe, expect, it } from '@jest/globals';
import { limitFields, SecboxError, type LimitField } from '@secbox/contracts';
import fc from 'fast-check';
import { hardCeilings } from './ceilings.js';
import { limitForms } from './limits.js';
import { mergePolicy, type PolicyInputs } from './merge.js';

/** From the floor to twice the hard ceiling, with both edges likely. */
function limit(field: LimitField): fc.Arbitrary<number> {
  const { floor, whole } = limitForms[field];
  const ceiling = hardCeilings[field];
  const edges = fc.constantFrom(floor, ceiling, ceiling + 1);
  return whole
    ? fc.oneof(fc.integer({ min: floor, max: ceiling * 2 }), edges)
    : fc.oneof(fc.double({ min: floor, max: ceiling * 2, noNaN: true }), edges);
}

const limits = fc.record(
  {
    timeout_ms: limit('timeout_ms'),
    max_stdout_bytes: limit('max_stdout_bytes'),
    max_stderr_bytes: limit('max_stderr_bytes'),
    max_artifacts_bytes_total: limit('max_artifacts_bytes_total'),
    memory_mb: limit('memory_mb'),
    cpu_cores: limit('cpu_cores'),
    pids: limit('pids'),
    read_only_root: fc.boolean(),
  },
  { requiredKeys: [] },
);

/** Lowered so that many merges succeed; without it nearly every layer asks for too much of something. */
const modest = limits.map((layer) => {
  const lowered: Partial<Record<LimitField, number>> = {};
  for (const field of limitFields) {
    const value = layer[field];
    if (value !== undefined) lowered[field] = Math.max(limitForms[field].floor, Math.floor(value / 8));
  }
  return lowered;
});

const layer = fc.oneof(limits, modest, modest);

const inputs: fc.Arbitrary<PolicyInputs> = fc.record(
  {
    engine: fc.record({
      cpus: fc.integer({ min: 1, max: 64 }),
      memory_mb: fc.integer({ min: 32, max: 65_536 }),
      defaultRuntime: fc.constant('runc'),
    }),
    settings: fc.record({ version: fc.nat(), values: limits, ceilings: limits }),
    manifest: layer,
    overrides: layer,
  },
  { requiredKeys: ['engine'] },
);

function outcome(given: PolicyInputs) {
  try {
    return { snapshot: mergePolicy(given) };
  } catch (error) {
    if (error instanceof SecboxError && error.code === 'policy_exceeded') return { error };
    throw error;
  }
}

/** The lowest ceiling over one layer, worked out without the code under test. */
function lowest(given: PolicyInputs, field: LimitField, over: 'manifest' | 'request'): number {
  const engine = { memory_mb: given.engine.memory_mb, cpu_cores: given.engine.cpus } as Partial<
    Record<LimitField, number>
  >;
  return Math.min(
    hardCeilings[field],
    engine[field] ?? Infinity,
    given.settings?.ceilings[field] ?? Infinity,
    over === 'request' ? (given.manifest?.[field] ?? Infinity) : Infinity,
  );
}

/** Whether the root may be writable for a layer below Settings. */
function mayWriteRoot(given: PolicyInputs): boolean {
  const { ceilings = {}, values = {} } = given.settings ?? {};
  return !(ceilings.read_only_root ?? values.read_only_root ?? true);
}

describe('whatever the layers say', () => {
  it('nothing is ever more than any ceiling or less than its floor', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const { snapshot } = outcome(given);
        if (snapshot === undefined) return;
        for (const field of limitFields) {
          expect(snapshot.values[field]).toBeLessThanOrEqual(lowest(given, field, 'request'));
          expect(snapshot.values[field]).toBeGreaterThanOrEqual(limitForms[field].floor);
          expect(snapshot.ceilings[field].value).toBe(lowest(given, field, 'request'));
        }
        expect(snapshot.values.net).toEqual({ mode: 'none' });
        expect(snapshot.values.read_only_root || mayWriteRoot(given)).toBe(true);
        expect(snapshot.values.read_only_root || given.manifest?.read_only_root !== true).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('a refusal names exactly the fields that go past', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const overrides = (given.overrides ?? {}) as Partial<Record<LimitField, number>> & {
          read_only_root?: boolean;
        };
        const past = limitFields.flatMap((field) => [
          ...((given.manifest?.[field] ?? 0) > lowest(given, field, 'manifest') ? [`manifest ${field}`] : []),
          ...((overrides[field] ?? 0) > lowest(given, field, 'request') ? [`request ${field}`] : []),
        ]);
        const { error } = outcome(given);
        const told = (error?.details?.['violations'] ?? []) as { asked_by: string; field: string }[];
        const numbers = told.filter(({ field }) => field !== 'read_only_root');
        expect(numbers.map(({ asked_by, field }) => `${asked_by} ${field}`).sort()).toEqual(past.sort());

        const rootPast =
          (given.manifest?.read_only_root === false && !mayWriteRoot(given)) ||
          (overrides.read_only_root === false &&
            (!mayWriteRoot(given) || given.manifest?.read_only_root === true));
        expect(told.length > numbers.length).toBe(rootPast);
      }),
      { numRuns: 1000 },
    );
  });

  it('the same layers give the same snapshot', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const again = outcome(structuredClone(given));
        expect(again.snapshot).toEqual(outcome(given).snapshot);
        expect(again.error?.details).toEqual(outcome(given).error?.details);
      }),
    );
  });

  it('a snapshot merged again, as the request, gives itself', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const { snapshot } = outcome(given);
        if (snapshot === undefined) return;
        expect(mergePolicy({ ...given, overrides: snapshot.values })).toEqual(snapshot);
      }),
      { numRuns: 500 },
    );
  });

  it('a snapshot survives JSON', () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const { snapshot } = outcome(given);
        if (snapshot !== undefined) expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot);
      }),
    );
  });

  it('a tighter request never loosens anything else', () => {
    fc.assert(
      fc.property(inputs, fc.constantFrom(...limitFields), (given, field) => {
        const plain = outcome({ ...given, overrides: {} }).snapshot;
        if (plain === undefined) return;
        const tight = mergePolicy({ ...given, overrides: { [field]: limitForms[field].floor } });
        expect(tight.values).toEqual({ ...plain.values, [field]: limitForms[field].floor });
      }),
    );
  });
});
