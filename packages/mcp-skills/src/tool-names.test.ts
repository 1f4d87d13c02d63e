import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { skillIdOf, toolName, toolNamings } from './tool-names.js';

test('a name says which skill it is of, in each way of naming', () => {
  expect(toolName('json.query', 'dots')).toBe('skill.json.query');
  expect(toolName('json.query', 'underscores')).toBe('skill_json_query');
  const id = fc.stringMatching(/^[a-z0-9]+(\.[a-z0-9]+)+$/);
  fc.assert(
    fc.property(id, fc.constantFrom(...toolNamings), (each, naming) => {
      expect(skillIdOf(toolName(each, naming), naming)).toBe(each);
    }),
  );
});

test('a name has at most 64 characters, which is what APIs of models take', () => {
  const path = new URL('../../../skills/_schema/manifest.schema.json', import.meta.url);
  const schema = JSON.parse(readFileSync(path, 'utf8')) as { properties: { id: { maxLength: number } } };
  const longest = `a.${'b'.repeat(schema.properties.id.maxLength - 2)}`;
  for (const naming of toolNamings) expect(toolName(longest, naming)).toHaveLength(64);
});

test.each(['skill_json_query', 'skill.json', 'skill.Json.query', 'skill.json..query', 'json.query', ''])(
  'with dots, %p is no name of ours',
  (name) => {
    expect(skillIdOf(name, 'dots')).toBeUndefined();
  },
);

test.each(['skill.json.query', 'skill_json.query', 'skill_json', 'skill__json_query'])(
  'without dots, %p is no name of ours',
  (name) => {
    expect(skillIdOf(name, 'underscores')).toBeUndefined();
  },
);
