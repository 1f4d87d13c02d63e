import { expect, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { preconditionIn, whileThereIsRoom } from './receive-body.js';

test('what is received ends when there is no room for more', async () => {
  const piece = Buffer.alloc(1024 ** 2);
  let sent = 0;
  let room = 20;
  async function* sending() {
    for (; sent < 100; sent += 1) yield await Promise.resolve(piece);
  }
  const receive = async () => {
    for await (const received of whileThereIsRoom(sending(), () => {
      if (room < 0) throw new SecboxError('disk_full', 'no room');
    })) {
      room -= received.length / 1024 ** 2;
    }
  };
  await expect(receive()).rejects.toMatchObject({ code: 'disk_full' });
  expect(sent).toBeLessThan(30);
});

const conditions = (headers: Record<string, string>, now = 'now') =>
  preconditionIn({ headers }, () => Promise.resolve(now));

test.each([
  ['*', '*'],
  ['"a"', 'a'],
  [' "a" ', 'a'],
  ['"a", "now" ,"b"', 'now'],
  ['"a","b"', 'a'],
  ['"a, b"', 'a, b'],
  // Only strong ones are compared, so that these are of no file.
  ['W/"now"', 'W/"now"'],
  ['W/"now", "a"', 'W/"now"'],
])('If-Match: %s begins from %j', async (match, ifMatch) => {
  expect(await conditions({ 'if-match': match })).toEqual({ ifMatch });
});

test('of several that cannot be compared now the change itself says what is wrong', async () => {
  const gone = () => Promise.reject(new SecboxError('file_not_found', 'gone'));
  expect(await preconditionIn({ headers: { 'if-match': '"a", "b"' } }, gone)).toEqual({ ifMatch: 'a' });
});

test.each(['a', '"a', '', '"a" "b"', '"a",', '*, "a"', 'w/"a"'])('If-Match: %s is refused', async (match) => {
  await expect(conditions({ 'if-match': match })).rejects.toMatchObject({ code: 'invalid_request' });
});

test('If-None-Match is only for what must not be there', async () => {
  expect(await conditions({ 'if-none-match': '*' })).toEqual({ ifAbsent: true });
  await expect(conditions({ 'if-none-match': '"a"' })).rejects.toMatchObject({ code: 'invalid_request' });
});
