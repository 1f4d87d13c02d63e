import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { formWith, skillZip, v1CallsTo, type V1Call } from './v1-calls.js';

const most = 16;
let service: RunningService;
let call: V1Call;
beforeAll(async () => {
  service = await startRunningService();
  call = v1CallsTo(service.url);
});
afterAll(() => service.close());

/** Says no size, sends a little, and stands still. */
function standingStill(user: string): ClientRequest {
  const url = `${service.url}/v1/sandbox/${user}/a/file?path=f`;
  const sent = request(url, { method: 'PUT', agent: false });
  sent.write('begun ');
  return sent;
}

async function statusOf(sent: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

test('one too many uploads is told to come back, and those that are under way go on', async () => {
  const upload = () =>
    call('/v1/skills/u/a/upload', { method: 'POST', body: formWith(skillZip('s', { 'SKILL.md': '# S' })) });
  const begun = Array.from({ length: most }, (_, n) => standingStill(`u${n}`));
  const answers = begun.map(statusOf);
  let refused = await upload();
  // They are counted when the server has come to them, not when they were sent.
  while (refused.code === 200) refused = await upload();
  expect([refused.code, refused.data]).toEqual([
    429,
    expect.objectContaining({ code: 'too_many_uploads', details: { most, retry_after_seconds: 2 } }),
  ]);
  expect(refused.headers.get('retry-after')).toBe('2');
  expect(await statusOf(standingStill('late'))).toBe(429);
  const small = await call('/v1/sandbox/u/a/file?path=small', { method: 'PUT', body: 'small' });
  expect(small.code).toBe(200);
  for (const sent of begun) sent.end('and whole');
  expect(await Promise.all(answers)).toEqual(begun.map(() => 200));
  expect((await call('/v1/sandbox/u3/a/file?path=f')).text).toBe('begun and whole');
  expect((await upload()).code).toBe(200);
});
