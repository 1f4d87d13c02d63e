import { expect, test } from '@jest/globals';
import { neverRan, newExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { PassThrough } from 'node:stream';
import { endWithoutResult } from './exec-failure.js';
import { publishSurely } from './publish-surely.js';

const log = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const finished = { ...neverRan('succeeded', '', new Date()), error_reason: null, exit_code: 0, cpu_ms: 7 };
const failing = (code: string) => Object.assign(new Error(code), { code });
const always = (code: string) => () => Promise.reject(failing(code));

test('what a full disk has no room for is published when it has', async () => {
  let tries = 0;
  const publish = () => {
    tries += 1;
    return tries < 3 ? Promise.reject(failing('ENOSPC')) : Promise.resolve();
  };
  await publishSurely({ publish, finished, log, abandon: new AbortController().signal });
  expect(tries).toBe(3);
});

test.each([
  ['ENOSPC', AbortSignal.abort(), /disk was full$/],
  ['EIO', new AbortController().signal, /log of the server says why$/],
])('what cannot be published (%s) ends with what is known', async (code, abandon, why) => {
  const failed: unknown = await publishSurely({ publish: always(code), finished, log, abandon }).catch(
    (error: unknown) => error,
  );
  const [ended] = endWithoutResult(failed, newExecId());
  expect(ended).toMatchObject({ status: 'error', exit_code: 0, cpu_ms: 7 });
  expect(ended.error_reason).toMatch(why);
});
