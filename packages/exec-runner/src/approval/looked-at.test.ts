import { expect, test } from '@jest/globals';
import { decidingVariables, isModule, takesPart } from './looked-at.js';

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
  expect(takesPart({ command: 'bash', args: ['-lc', 'python -c 1'] }, path)).toBe(true);
});

test.each(['a.csv', 'py', 'a.pth.txt'])('python does not load %s', (path) => {
  expect(isModule(path)).toBe(false);
});
