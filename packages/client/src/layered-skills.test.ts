import { expect, jest, test } from '@jest/globals';
import { SecboxClient } from './client.js';

test('all versions of a skill are had, however many pages they come in', async () => {
  const pages: Readonly<Record<string, object>> = {
    '': { data: [{ version: 'c' }, { version: 'b' }], next_cursor: 'after b' },
    'after b': { data: [{ version: 'a' }], next_cursor: null },
  };
  const asked = jest.fn<typeof fetch>((input) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return Promise.resolve(Response.json(pages[url.searchParams.get('cursor') ?? '']));
  });
  const client = new SecboxClient({ url: 'http://127.0.0.1:1', key: 'k', fetch: asked });
  const versions: string[] = [];
  for await (const { version } of client.layers('u', 'agent').skill('s').versions()) versions.push(version);
  expect(versions).toEqual(['c', 'b', 'a']);
  expect(asked).toHaveBeenCalledTimes(2);
});
