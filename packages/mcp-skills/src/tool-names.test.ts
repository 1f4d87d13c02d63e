import { expect, test } from '@jest/globals';
import fc from 'fast-check';
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
