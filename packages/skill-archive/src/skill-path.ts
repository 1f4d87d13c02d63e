import { SecboxError } from '@secbox/contracts';
import { parseRelativePath, type RelativePath } from '@secbox/workspace';

/** The system takes paths of 4096 bytes, of which those of the folders that skills lie in are a part. */
export const longestSkillPath = 3_000;

/** A path of a skill, from its root. */
export function parseSkillPath(text: string, field: string): RelativePath {
  const path = parseRelativePath(text, field);
  if (Buffer.byteLength(text) <= longestSkillPath) return path;
  throw new SecboxError(
    'invalid_path',
    `${field}: a path in a skill has at most ${longestSkillPath} bytes.`,
    {
      details: { field },
    },
  );
}
