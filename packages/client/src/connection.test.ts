import { expect, jest, test } from '@jest/globals';
import { SecboxClient } from './client.js';

const execId = '2c1e9a40-0a53-4d0e-9a44-1f0d5c1f6f11';

test('a name never leads to another route', async () => {
  const asked = jest.fn<typeof fetch>();
  const client = new SecboxClient({ url: 'http://127.0.0.1:1', key: 'k', fetch: asked });
  for (const path of ['../../../../keys', 'a/../b', '.', 'a/..']) {
    await expect(client.execs.openArtifact(execId, path)).rejects.toThrow(TypeError);
  }
  const url = `/sandbox/execs/${execId}/artifacts/%2E./keys`;
  await expect(client.execs.openArtifact(execId, { url, path: 'a' })).rejects.toThrow(TypeError);
  await expect(client.skills.get('..')).rejects.toThrow(TypeError);
  expect(asked).not.toHaveBeenCalled();
});
