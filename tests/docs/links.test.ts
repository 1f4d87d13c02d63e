import { expect, test } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { anchorOf, docs } from './api-pages.js';

const pages = [
  ...readdirSync(docs, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md')),
  ...['README', 'SECURITY', 'ARCHITECTURE', 'CONTRIBUTING'].map((name) => `../${name}.md`),
];

/** With code taken out, in which brackets are something else. */
const textOf = (file: URL) => readFileSync(file, 'utf8').replaceAll(/^```.*?^```$/gms, '');

test.each(pages)('every link of docs/%s leads somewhere', (path) => {
  const page = new URL(path, docs);
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => !isThere(new URL(link, page)))).toEqual([]);
});

function isThere(target: URL): boolean {
  const file = new URL(target);
  file.hash = '';
  if (!existsSync(file)) return false;
  if (target.hash === '') return true;
  const headings = [...textOf(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const anchors = headings.map((heading) => anchorOf(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')));
  return anchors.includes(target.hash.slice(1));
}
