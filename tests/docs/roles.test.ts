import { expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { roles } from '@secbox/contracts';
import { routeAccess, type RouteAccess } from '@secbox/core-api';

const file = new URL('../../docs/roles.md', import.meta.url);
const heading = ['call', ...roles];

/** A cell is empty, yes, or says that it takes the tenant `default`; an open call needs no key at all. */
function rowOf([call, access]: [string, RouteAccess]): string[] {
  const cell = (role: (typeof roles)[number]) => {
    if (access === 'open') return 'open';
    if (!access.roles.includes(role)) return '';
    return access.scope === 'installation' ? 'of `default`' : 'yes';
  };
  return [`\`${call}\``, ...roles.map(cell)];
}

/** As prettier writes it. */
function tableOf(rows: readonly string[][]): string {
  const widths = heading.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |\n`;
  const [first = [], ...rest] = rows;
  return [
    line(first),
    line(
      first.map(() => ''),
      '-',
    ),
    ...rest.map((row) => line(row)),
  ].join('');
}

test('docs/roles.md has the table of access (UPDATE_DOCS=1 writes it)', () => {
  const page = readFileSync(file, 'utf8');
  const at = page.indexOf('| call');
  const table = tableOf([heading, ...Object.entries(routeAccess).map(rowOf)]);
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, `${page.slice(0, at)}${table}`);
  expect(readFileSync(file, 'utf8').slice(at)).toBe(table);
});

test('docs/roles.md says of every role what it is for', () => {
  const page = readFileSync(file, 'utf8');
  const told = [...page.matchAll(/^\| `(\w+)` +\| (\S.{20,}) \|$/gm)].map(([, role]) => role);
  expect(told).toEqual([...roles]);
});
