import { expect, test } from '@jest/globals';
import { neverRan, newExecId, noEvidence, type ExecRecord } from '@secbox/contracts';
import { PrometheusMetrics } from '@secbox/metrics';
import { countedStores } from './service-metrics.js';

test('an exec that an earlier server started counts by how it started, and one that never did as none', async () => {
  const [warm, never] = [newExecId(), newExecId()];
  const metrics = new PrometheusMetrics();
  const rows = { [warm]: { start_mode: 'warm' }, [never]: { start_mode: null } };
  const { execs } = countedStores(
    {
      execs: {
        finish: () => Promise.resolve(),
        find: (execId: keyof typeof rows) => Promise.resolve(rows[execId] as ExecRecord),
      } as never,
      approvals: {} as never,
    },
    metrics,
  );
  const end = { ...neverRan('error', 'interrupted', new Date()), evidence: noEvidence };
  for (const execId of [warm, never]) await execs.finish(execId, end);
  const printed = await metrics.render();
  expect(printed).toContain('secbox_execs_total{status="error",start_mode="warm"} 1');
  expect(printed).toContain('secbox_execs_total{status="error",start_mode="none"} 1');
});
