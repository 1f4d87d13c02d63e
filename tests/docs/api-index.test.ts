import { expect, test } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { routeAccess } from '@secbox/core-api';
import { operations } from '../../apps/core-api/src/openapi/operations.js';
import { anchorOf, apiFiles, apiPages, docs, isCall } from './api-pages.js';

const sections = apiPages.flatMap((page) => page.sections).filter(({ title }) => isCall(title));

test('every call has one section, and there is no other', () => {
  expect(sections.map(({ title }) => title).sort()).toEqual(Object.keys(routeAccess).sort());
});

// That they are run, and one of them answered well by this very call, is what api.docker.test.ts is about.
test.each(sections)('$title has an example', ({ examples }) => {
  expect(examples).not.toEqual([]);
});

test('every page is run and in the index', () => {
  expect(apiPages.map(({ path }) => path).sort()).toEqual([...apiFiles].sort());
});

test('docs/api.md lists every call with what it does (UPDATE_DOCS=1 writes it)', () => {
  const file = new URL('api.md', docs);
  const listed = /(?<=^## Calls\n\n).*?(?=^## )/ms;
  const page = readFileSync(file, 'utf8');
  if (process.env['UPDATE_DOCS'] === '1')
    writeFileSync(
      file,
      page.replace(listed, () => index()),
    );
  expect(listed.exec(readFileSync(file, 'utf8'))?.[0]).toBe(index());
});

function index(): string {
  const does = new Map(
    operations.map(({ method, path, summary }) => [`${method.toUpperCase()} ${path}`, summary]),
  );
  return apiPages
    .map(({ title, path, sections: all }) => {
      const own = path === 'api.md';
      const lines = all
        .filter((section) => isCall(section.title))
        .map(({ title: call }) => {
          const summary = does.get(call);
          const to = `${own ? '' : path}#${anchorOf(call)}`;
          return `- [\`${call}\`](${to})${summary === undefined ? '' : `: ${summary}`}\n`;
        });
      const heading = own ? 'Running it' : `[${title}](${path})`;
      return `### ${heading}\n\n${lines.join('')}\n`;
    })
    .join('');
}
