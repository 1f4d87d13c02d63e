import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Every key of a manifest with its description; not those of the schemas within it. */
function keysOf(schema: Schema, above = ''): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => {
    const path = `${above}${key}`;
    const below = above === 'interface.' ? [] : keysOf(inner, `${path}.`);
    return [[path, inner.description ?? ''], ...below];
  });
}

test('docs/skills.md explains every key of a manifest in the words of the schema', () => {
  const documented = read('docs/skills.md')
    .split('\n')
    .filter((line) => /^\| `[a-z_$.]+` +\|/.test(line))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, 3))
    .map(([key = '', words = '']) => [key.trim().replaceAll('`', ''), words.trim().replaceAll('\\|', '|')]);
  const keys = keysOf(JSON.parse(read('skills/_schema/manifest.schema.json')) as Schema);
  expect(keys.length).toBeGreaterThan(20);
  expect(documented).toEqual(keys);
});
