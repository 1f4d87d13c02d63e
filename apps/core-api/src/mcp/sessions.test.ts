import { beforeEach, describe, expect, test } from '@jest/globals';
import { Sessions } from './sessions.js';

class Session {
  closed = false;
  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

const clock = { now: 0 };
let sessions: Sessions<Session>;
beforeEach(() => {
  clock.now = 0;
  sessions = new Sessions({ total: 4, perOwner: 2, idleMs: 100, maxAgeMs: 1000 }, () => clock.now);
});

const add = (id: string, owner = 'a') => {
  const session = new Session();
  sessions.add(id, owner, session);
  return session;
};
const missing = expect.objectContaining({ code: 'session_not_found' });
const full = expect.objectContaining({ code: 'too_many_sessions' });

describe('sessions', () => {
  test('are their owners', () => {
    const session = add('1');
    expect(sessions.use('1', 'a').session).toBe(session);
    expect(() => sessions.use('1', 'b')).toThrow(missing);
    expect(() => sessions.use('2', 'a')).toThrow(missing);
  });

  test('of one owner: the one that was used longest ago makes room, but none that is in use', () => {
    const [first, second] = [add('1'), add('2')];
    clock.now = 1;
    sessions.use('1', 'a').done();
    add('3');
    expect([first.closed, second.closed]).toEqual([false, true]);
    const uses = [sessions.use('1', 'a'), sessions.use('3', 'a')];
    expect(() => add('4')).toThrow(full);
    uses[1]?.done();
    add('4');
    expect([first.closed, sessions.size]).toEqual([false, 2]);
  });

  test('of all: nobody takes the place of another', () => {
    for (const [id, owner] of ['a', 'a', 'b', 'b'].entries()) add(String(id), owner);
    expect(() => add('5', 'c')).toThrow(full);
    add('5', 'b');
    expect(sessions.size).toBe(4);
  });

  test('end when they are not used, and after their time even if they are', () => {
    const [unused, used] = [add('1'), add('2')];
    const use = sessions.use('2', 'a');
    clock.now = 101;
    expect(() => sessions.use('1', 'a')).toThrow(missing);
    expect(unused.closed).toBe(true);
    clock.now = 1000;
    expect(sessions.use('2', 'a').session).toBe(used);
    clock.now = 1001;
    expect(() => sessions.use('2', 'a')).toThrow(missing);
    expect(used.closed).toBe(true);
    use.done();
    expect(sessions.size).toBe(0);
  });

  test('end with the server', async () => {
    const all = [add('1'), add('2', 'b')];
    await sessions.close();
    expect(all.map(({ closed }) => closed)).toEqual([true, true]);
  });
});
