import { expect, test } from '@jest/globals';
import { SecboxClient } from '@secbox/client';
import { SkillsProvider } from './skills-provider.js';

/** What each look finds: a revision, or undefined where the server does not answer. */
async function changesAt(looks: readonly (string | undefined)[]): Promise<number[]> {
  const changes: number[] = [];
  let look = -1;
  let stop = (): void => undefined;
  await new Promise<void>((resolve) => {
    const client = new SecboxClient({
      url: 'http://127.0.0.1:1',
      retry: { attempts: 0 },
      fetch: () => {
        look += 1;
        if (look === looks.length) resolve();
        const etag = looks[look];
        return etag === undefined
          ? Promise.reject(new TypeError('fetch failed'))
          : Promise.resolve(new Response('{}', { headers: { etag } }));
      },
    });
    const provider = new SkillsProvider({ client, pollMs: 1, onError: () => undefined });
    stop = provider.onChange(() => changes.push(look));
  });
  stop();
  return changes;
}

test('a change is told, and that a server has come up, which may have been down from the start', async () => {
  expect(await changesAt(['a', 'a', 'b', 'b'])).toEqual([2]);
  expect(await changesAt([undefined, undefined, 'a', 'a'])).toEqual([2]);
  expect(await changesAt(['a', undefined, 'b'])).toEqual([2]);
});
