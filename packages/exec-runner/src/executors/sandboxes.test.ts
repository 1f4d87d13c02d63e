import { expect, test } from '@jest/globals';
import { defaultTenant, type ExecRequest } from '@secbox/contracts';
import { mergePolicy } from '@secbox/policy';
import type { RiskLevel, SecurityMode } from '@secbox/risk';
import { orderOf } from '../exec-order.js';
import { decidedIn, planExec, submissionOf, type ExecPlan } from '../exec-plan.js';
import type { RunResult } from '../run-container.js';
import { Sandboxes } from './sandboxes.js';
import type { SubprocessExecutor, SubprocessReport } from './subprocess-executor.js';

function planOf(exec: Partial<ExecRequest['exec']> = {}, runtime = 'runc'): ExecPlan {
  const python = { kind: 'python', command: 'python', args: ['-c', 'print(1)'] } as const;
  const order = orderOf(
    { project_id: 'p', exec: { ...python, ...exec } },
    { caller: { tenant: defaultTenant, actor: null } },
  );
  const engine = { cpus: 2, memory_mb: 8192, defaultRuntime: runtime };
  return planExec(order, {
    imageReference: 'i',
    image: { id: 'sha256:x', environment: {}, labels: { 'secbox.init': '1' } },
    policy: mergePolicy({ engine, overrides: {} }),
  });
}

/** Stands where an executor would be that this host has proved. */
function proved(report: SubprocessReport = { available: true, programs: ['bash', 'python'] }) {
  const executor: Pick<SubprocessExecutor, 'type' | 'report' | 'canRun' | 'run'> = {
    type: 'subprocess',
    report: () => report,
    canRun: (command) => report.available && report.programs.includes(command),
    run: () => Promise.reject<RunResult>(new Error('nothing is run here')),
  };
  return executor as SubprocessExecutor;
}

interface Case {
  readonly level?: RiskLevel;
  readonly complete?: boolean;
  readonly subprocess?: SubprocessExecutor | null;
}

function sandboxesOf(
  mode: () => SecurityMode,
  { level = 'SAFE', complete = true, subprocess = proved() }: Case = {},
) {
  const asked: (readonly string[])[] = [];
  const sandboxes = new Sandboxes({
    mode,
    subprocess: subprocess ?? undefined,
    assessor: {
      assessCommand: (argv) => {
        asked.push(argv);
        return Promise.resolve({ level, complete, findings: [], omitted: 0 });
      },
    },
  });
  return { sandboxes, asked };
}

test.each([
  ['in STRICT', sandboxesOf(() => 'STRICT')],
  ['where it is not turned on', sandboxesOf(() => 'PERMISSIVE', { subprocess: null })],
  [
    'where it is not possible',
    sandboxesOf(() => 'PERMISSIVE', { subprocess: proved({ available: false, why: 'x' }) }),
  ],
])('%s a plan stays as it is, at once, and nothing is looked at', (_where, { sandboxes, asked }) => {
  const plan = planOf();
  expect(sandboxes.choose(plan)).toBe(plan);
  expect(asked).toEqual([]);
  expect(() => sandboxes.subprocess()).toThrow(/not allowed or not possible/);
});

test.each(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const)(
  'what looks %s stays in a container',
  async (level) => {
    const plan = planOf();
    expect(await sandboxesOf(() => 'PERMISSIVE', { level }).sandboxes.choose(plan)).toBe(plan);
  },
);

test('what was not looked at to its end stays in a container', async () => {
  const plan = planOf();
  expect(await sandboxesOf(() => 'PERMISSIVE', { complete: false }).sandboxes.choose(plan)).toBe(plan);
});

test.each([
  ['variables of its own', planOf({ env: { A: 'b' } })],
  ['gVisor', planOf({}, 'runsc')],
  ['a skill', { ...planOf(), skill: { id: 's' } }],
  ['read-only work', { ...planOf(), readOnlyWork: true }],
  ['another program', { ...planOf(), command: { ...planOf().command, command: 'node' } }],
])('%s: not even assessed', (_what, plan) => {
  const { sandboxes, asked } = sandboxesOf(() => 'PERMISSIVE');
  expect(sandboxes.choose(plan)).toBe(plan);
  expect(asked).toEqual([]);
});

test('the choice is in the plan, its hash and its row', async () => {
  const { sandboxes, asked } = sandboxesOf(() => 'PERMISSIVE');
  const plan = planOf();
  const chosen = await sandboxes.choose(plan);
  expect(asked).toEqual([['python', '-c', 'print(1)']]);
  expect(chosen).toMatchObject({ sandbox: 'subprocess', image: { reference: 'host', id: 'host' } });
  expect(decidedIn(chosen)).toMatchObject({ sandbox: 'subprocess' });
  expect(decidedIn(plan)).not.toHaveProperty('sandbox');
  const facts = {
    artifacts_path: '/a',
    idempotency_key: null,
    request_hash: 'r',
    plan_hash: 'p',
    created_at: new Date().toISOString(),
  };
  expect(submissionOf(chosen, facts)).toMatchObject({ sandbox_type: 'subprocess', image: 'host' });
  expect(submissionOf(plan, facts)).toMatchObject({ sandbox_type: 'docker', image: 'i' });
});

test('a mode that was changed while an exec waited holds when it runs', () => {
  let mode: SecurityMode = 'PERMISSIVE';
  const { sandboxes } = sandboxesOf(() => mode);
  expect(sandboxes.subprocess().type).toBe('subprocess');
  mode = 'STRICT';
  expect(() => sandboxes.subprocess()).toThrow(/it was not run/);
});
