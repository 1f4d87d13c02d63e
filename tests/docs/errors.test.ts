import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { errorCodes, errorKinds, httpStatusOf, type ErrorCode } from '@secbox/contracts';

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8');
const [kinds = '', codes = ''] = page.split('## Codes');

/** The cells of every table row whose first cell is a code span. */
function rowsOf(text: string): string[][] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
}

test('docs/errors.md lists every code with its kind and status, and no other', () => {
  const documented = rowsOf(codes).map(([code, kind, status]) => [code, kind, status]);
  const real = (Object.keys(errorCodes) as ErrorCode[]).map((code) => [
    code,
    errorCodes[code].kind,
    String(httpStatusOf(code)),
  ]);
  expect(documented).toEqual(real);
});

test('docs/errors.md lists every kind, and no other', () => {
  expect(rowsOf(kinds).map(([kind]) => kind)).toEqual([...errorKinds]);
});

test('every code is explained', () => {
  for (const [code, , , when] of rowsOf(codes))
    expect([code, when?.length ?? 0]).toEqual([code, expect.any(Number)]);
  expect(rowsOf(codes).every(([, , , when]) => (when ?? '').length > 20)).toBe(true);
});
