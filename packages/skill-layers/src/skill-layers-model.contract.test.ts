import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { HostMounts } from './exec/exec-road.js';
import { ModelRun } from './testing/model-run.js';
import { canMount, programMounts } from './testing/program-mounts.js';
import { operations } from './testing/random-operations.js';

/** Whatever three users do, each sees what a model without any layers says, and versions stay as they were made. */
function describeModel(road: string, runs: number, mounts?: HostMounts): void {
  test(`${road}: any sequence of operations is as the model has it`, async () => {
    await fc.assert(
      fc.asyncProperty(operations, async (sequence) => {
        const root = await mkdtemp(join(tmpdir(), 'secbox-layers-'));
        try {
          await new ModelRun(root, mounts).all(sequence);
        } finally {
          await rm(root, { recursive: true });
        }
      }),
      { numRuns: runs, endOnFailure: false },
    );
    expect(runs).toBeGreaterThan(0);
  }, 300_000);
}

describeModel('copy', 60);
(canMount ? describe : describe.skip)('as root on Linux', () => describeModel('overlay', 30, programMounts));
