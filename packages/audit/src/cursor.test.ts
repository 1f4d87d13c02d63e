import { expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import { Cursors, type Seals } from './cursor.js';

const tagOf = (data: Buffer, context: string) =>
  createHmac('sha256', 'a test').update(context).update('\0').update(data).digest();
const seals: Seals = {
  seal: (data, context) => Buffer.concat([tagOf(data, context), data]),
  unseal: (sealed, context) => {
    const data = sealed.subarray(32);
    if (!tagOf(data, context).equals(sealed.subarray(0, 32))) throw new Error('forged');
    return data;
  },
};
const cursors = new Cursors(seals);

test('a cursor comes back as the place it is, in its list only', () => {
  const cursor = cursors.write(1_715_000_000_000_123, ['execs', 'a']);
  expect(cursors.read(cursor, ['execs', 'a'])).toBe(1_715_000_000_000_123);
  expect(() => cursors.read(cursor, ['execs', 'b'])).toThrow(
    expect.objectContaining({ code: 'invalid_request' }),
  );
});

test('any change of a cursor is refused (case 58)', () => {
  const cursor = cursors.write(7, []);
  for (let at = 0; at < cursor.length; at += 1) {
    for (const other of ['A', 'z', '+', '=', "'"]) {
      if (cursor[at] === other) continue;
      const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
      expect(() => cursors.read(changed, [])).toThrow(expect.objectContaining({ code: 'invalid_request' }));
    }
  }
  expect(cursors.read(undefined, [])).toBeUndefined();
});
