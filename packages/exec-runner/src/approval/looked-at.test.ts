import { expect, test } from '@jest/globals';
import { newExecId } from '@secbox/contracts';
import type { ExecPlan } from '../exec-plan.js';
import { decidingVariables, isAsLookedAt, isModule, lookedAt, takesPart } from './looked-at.js';

test('variables that decide what runs are told from the others', () => {
  const environmentKeys = [
    'TOKEN',
    'PYTHONPATH',
    'LANG',
    'HOME',
    'LD_PRELOAD',
    'XDG_CONFIG_HOME',
    'NODE_ENV',
  ];
  expect(decidingVariables({ environmentKeys })).toEqual([
    'PYTHONPATH',
    'HOME',
    'LD_PRELOAD',
    'XDG_CONFIG_HOME',
  ]);
});

test.each(['a.py', 'a.pyc', 'lib/a.so', 'a.pth'])('python loads %s', (path) => {
  expect(isModule(path)).toBe(true);
});

test.each(['a.csv', 'py', 'a.pth.txt'])('python does not load %s', (path) => {
  expect(isModule(path)).toBe(false);
  expect(takesPart({ args: ['-lc', 'python -c 1'] }, path)).toBe(false);
});

test.each([
  ['python -c "import json"'],
  ['pyth""on -c "import json"'],
  [`p='pyth'; "\${p}on" -c "import json"`],
  ['cd /workspace/inp*; $(printf "\\160ython") -c "import json"'],
  ['make'],
])('a module takes part in %s, whether one sees python in it or not', (script) => {
  expect(takesPart({ args: ['-lc', script] }, 'json.py')).toBe(true);
});

test('another file takes part in a command that names it', () => {
  expect(takesPart({ args: ['/workspace/inputs/a.sh'] }, 'a.sh')).toBe(true);
  expect(takesPart({ args: ['/workspace/inputs/a.sh'] }, 'b.sh')).toBe(false);
});

test('a module that comes or changes while an exec waits is noticed, other files are not', () => {
  const command = {
    command: 'bash',
    args: ['-lc', 'pyth""on -c "import json"'],
  } as unknown as ExecPlan['command'];
  const module = { path: 'json.py', sha256: 'a' };
  const plan = { execId: newExecId(), command, ...lookedAt({ command }, [module]) };
  const isAs = (...visible: { path: string; sha256: string }[]) =>
    isAsLookedAt(
      plan,
      visible.map((input) => ({ ...input, size: 1 })),
    );
  expect(isAs(module, { path: 'rows.csv', sha256: 'b' })).toBe(true);
  expect(isAs({ ...module, sha256: 'b' })).toBe(false);
  expect(isAs(module, { path: 'csv.py', sha256: 'b' })).toBe(false);
  const none = { ...plan, ...lookedAt({ command }, []) };
  expect(isAsLookedAt(none, [{ ...module, size: 1 }])).toBe(false);
});
