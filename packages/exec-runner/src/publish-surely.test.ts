import { expect, test } from '@jest/globals';
import { neverRan, newExecId } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { PassThrough } from 'node:stream';
import { endWithoutResult, isLeft } from './exec-failure.js';
import { onceThereIsRoom, publishSurely } from './publish-surely.js';

const log = createLogger({ level: 'error', format: 'json', destination: new PassThrough().resume() });
const finished = { ...neverRan('succeeded', '', new Date()), error_reason: null, exit_code: 0, cpu_ms: 7 };
const failing = (code: string) => Object.assign(new Error(code), { code });
const always = (code: string) => () => Promise.reject(failing(code));

test.each(['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE'])(
  'what waits for %s to pass is published',
  async (code) => {
    let tries = 0;
    const publish = () => {
      tries += 1;
      return tries < 3 ? Promise.reject(failing(code)) : Promise.resolve();
    };
    await publishSurely({ publish, finished, log, abandon: new AbortController().signal });
    expect(tries).toBe(3);
  },
);

const failureOf = (code: string, abandon: AbortSignal): Promise<unknown> =>
  publishSurely({ publish: always(code), finished, log, abandon }).catch((error: unknown) => error);

test('what cannot be published ends with what is known', async () => {
  const failed = await failureOf('EIO', new AbortController().signal);
  expect(isLeft(failed)).toBe(false);
  const [ended] = endWithoutResult(failed, newExecId());
  expect(ended).toMatchObject({ status: 'error', exit_code: 0, cpu_ms: 7 });
  expect(ended.error_reason).toMatch(/log of the server says why$/);
});

test.each(['ENOSPC', 'EMFILE', 'EIO'])(
  'what cannot be published (%s) when nobody can wait any longer is left to the next server',
  async (code) => {
    expect(isLeft(await failureOf(code, AbortSignal.abort()))).toBe(true);
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 50);
    if (code !== 'EIO') expect(isLeft(await failureOf(code, leaving.signal))).toBe(true);
  },
);

test('what can be published when nobody can wait any longer is', async () => {
  const publish = () => Promise.resolve();
  await publishSurely({ publish, finished, log, abandon: AbortSignal.abort() });
});

test('what else goes wrong while there may be room is told as it is', async () => {
  const broken = failing('EIO');
  const work = onceThereIsRoom(() => Promise.reject(broken), { log, abandon: new AbortController().signal });
  await expect(work).rejects.toBe(broken);
});
