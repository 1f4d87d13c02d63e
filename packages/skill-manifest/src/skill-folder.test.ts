import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSkillFolder } from './skill-folder.js';

const at = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

test('docs/skills.md shows json.query with its digest', () => {
  const { digest } = readSkillFolder(at('skills/json.query'));
  const shown = /"json\.query",\s+"secbox\/skill_digest": "(\w+)"/.exec(
    readFileSync(at('docs/skills.md'), 'utf8'),
  );
  expect(shown?.[1]).toBe(digest);
});
