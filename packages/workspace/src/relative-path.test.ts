import { describe, expect, test } from '@jest/globals';
import { parseRelativePath } from './relative-path.js';

describe('a relative path', () => {
  test.each([
    ['main.py', ['main.py']],
    ['data/2024/a b.csv', ['data', '2024', 'a b.csv']],
    ['数据/файл.txt', ['数据', 'файл.txt']],
    ['..hidden/...', ['..hidden', '...']],
    ['-rf', ['-rf']],
    [Array<string>(32).fill('d').join('/'), Array<string>(32).fill('d')],
  ])('%j is taken', (text, components) => {
    expect(parseRelativePath(text, 'inputs[0].path')).toEqual(components);
  });

  test.each([
    ['../x'],
    ['a/../../x'],
    ['a/..'],
    ['./a'],
    ['a//b'],
    ['a/'],
    ['/etc/passwd'],
    ['C:\\x'],
    ['c:x'],
    ['..\\x'],
    ['%2e%2e%2fx'],
    ['a%2Fb'],
    ['a\0b'],
    ['a\nb'],
    ['a\u0085b'],
    ['\ud800'],
    [''],
    ['x'.repeat(256)],
    ['é'.repeat(128)],
    [Array<string>(2500).fill('ab').join('/')],
    [Array<string>(2000).fill('d').join('/')],
    [Array<string>(33).fill('d').join('/')],
  ])('%j is refused (cases 1 and 2)', (text) => {
    expect(() => parseRelativePath(text, 'inputs[0].path')).toThrow(
      expect.objectContaining({ code: 'invalid_path', message: expect.stringContaining('inputs[0].path') }),
    );
  });
});
