import { expect, test } from '@jest/globals';
import { parseExecId, type ExecAnswer, type ExecRecord, type RiskReport } from '@secbox/contracts';
import { CodeRunner, type CodeRunnerOptions } from './code-runner.js';

/** Looks at nothing, and counts how often it is asked. */
function counted(findings: readonly string[] = []) {
  const asked: string[] = [];
  const report = { level: 'SAFE', findings: findings.map((rule) => ({ rule })), omitted: 0, complete: true };
  const runner = new CodeRunner({
    audit: { answer: () => Promise.resolve({} as ExecAnswer) },
    assessor: {
      assess: ({ code }: { code: string }) => {
        asked.push(code);
        return Promise.resolve(report as unknown as RiskReport);
      },
    },
  } as unknown as CodeRunnerOptions);
  return { asked, runner };
}

const idOf = (n: number) => parseExecId(`00000000-0000-4000-8000-${String(n).padStart(12, '0')}`);

function runOf(n: number): ExecRecord {
  return {
    exec_id: idOf(n),
    cmd: 'python',
    args: ['-c', `print(${n})`],
    skill_id: null,
  } as unknown as ExecRecord;
}

test('the code of a run is looked at once, however often it is asked about', async () => {
  const { asked, runner } = counted();
  void runner.assess(idOf(1), { language: 'python', code: 'print(1)' });
  for (let n = 0; n < 3; n += 1) expect((await runner.answer(runOf(1))).risk.level).toBe('SAFE');
  expect((await runner.answer(runOf(2))).risk.level).toBe('SAFE');
  expect(asked).toEqual(['print(1)', 'print(2)']);
});

test('it is looked at again when nobody had time for it', async () => {
  const { asked, runner } = counted(['cannot-tell.busy']);
  await runner.answer(runOf(1));
  await runner.answer(runOf(1));
  expect(asked).toHaveLength(2);
});

test('a bounded number of reports is kept, the latest', async () => {
  const { asked, runner } = counted();
  for (let n = 0; n <= 256; n += 1) await runner.answer(runOf(n));
  await runner.answer(runOf(256));
  expect(asked).toHaveLength(257);
  await runner.answer(runOf(0));
  expect(asked).toHaveLength(258);
});
