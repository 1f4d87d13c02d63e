import { describe, expect, it } from '@jest/globals';
import { componentProblem } from './component.js';
import type { RuntimeMode } from './runtime-mode.js';

const modes: readonly RuntimeMode[] = ['windows', 'wsl', 'linux'];

describe('a component', () => {
  it.each([
    'a',
    '.hidden',
    '..two',
    'with space',
    'Ünïcødé',
    '数据',
    '🙂',
    '-v',
    'a,b',
    '~',
    'console',
    'com10',
    'x'.repeat(255),
  ])('%j is taken everywhere', (component) => {
    for (const mode of modes) expect(componentProblem(component, mode)).toBeUndefined();
  });

  it.each([
    '',
    '.',
    '..',
    'a/b',
    'a\\b',
    '..\\x',
    'a:b',
    'C:',
    'a\0b',
    'a\nb',
    'a\u0085b',
    '\ud800',
    'é'.repeat(128),
  ])('%j is refused everywhere', (component) => {
    for (const mode of modes) expect(componentProblem(component, mode)).toBeDefined();
  });

  it.each([
    ...[
      'con',
      'CON',
      'nul',
      'Nul.txt',
      'nul .txt',
      'aux.tar.gz',
      'prn',
      'com1',
      'LPT9.log',
      'com¹',
      'CONIN$',
    ],
    ...['a.', 'a ', '...', 'a<b', 'a>b', 'a"b', 'a|b', 'a?', 'a*'],
  ])('%j is refused where Windows sees the folder', (component) => {
    expect(componentProblem(component, 'windows')).toBeDefined();
    expect(componentProblem(component, 'wsl')).toBeDefined();
    expect(componentProblem(component, 'linux')).toBeUndefined();
  });
});
