import { describe, expect, test } from '@jest/globals';
import { InputsGuard } from './inputs-guard.js';

function controlled() {
  const guard = new InputsGuard();
  const happened: string[] = [];
  const ends = new Map<string, () => void>();
  const needed = new Map<string, readonly string[]>();
  const enter = (name: string, change: boolean, project = 'p', stop = new AbortController().signal) =>
    guard.during(
      project,
      {
        name,
        wouldChange: () => Promise.resolve(change),
        write: (isNeeded) => {
          happened.push(`${name} writes`);
          needed.set(
            name,
            [...ends.keys()].filter((other) => isNeeded(other)),
          );
          return Promise.resolve(name);
        },
        stop,
      },
      async (written, wasAccompanied) => {
        happened.push(`${written} runs`);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        happened.push(`${name} ends`);
        return wasAccompanied();
      },
    );
  const settled = async () => {
    for (let n = 0; n < 30; n += 1) await Promise.resolve();
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { happened, needed, enter, end, settled };
}

describe('the inputs of a project', () => {
  test('may be added to while others run', async () => {
    const { happened, enter, end, settled } = controlled();
    void enter('a', false);
    void enter('b', false);
    await settled();
    expect(happened).toEqual(['a writes', 'a runs', 'b writes', 'b runs']);
    await end('a');
    await end('b');
  });

  test('are changed only when no exec runs, and later ones wait behind the change', async () => {
    const { happened, enter, end, settled } = controlled();
    void enter('a', false);
    void enter('b', false);
    void enter('changer', true);
    void enter('later', false);
    await settled();
    await end('a');
    expect(happened).not.toContain('changer writes');
    await end('b');
    expect(happened.slice(-5)).toEqual([
      'b ends',
      'changer writes',
      'changer runs',
      'later writes',
      'later runs',
    ]);
    await end('changer');
    await end('later');
  });

  test('of one that is gone are needed until those have gone who were there with it', async () => {
    const { needed, enter, end, settled } = controlled();
    const come = async (name: string) => {
      void enter(name, false);
      await settled();
      return needed.get(name);
    };
    expect(await come('a')).toEqual([]);
    expect(await come('b')).toEqual(['a']);
    await end('a');
    // It sees what a brought, as b is still there; that is no reason to keep it from then on.
    expect(await come('c')).toEqual(['a', 'b']);
    await end('b');
    expect(await come('d')).toEqual(['b', 'c']);
    await end('c');
    expect(await come('e')).toEqual(['c', 'd']);
    await end('d');
    await end('e');
    expect(await come('f')).toEqual([]);
    await end('f');
  });

  test('whoever is stopped while waiting leaves at once, and writes nothing', async () => {
    const { happened, enter, end, settled } = controlled();
    const stop = new AbortController();
    void enter('a', false);
    const changer = enter('changer', true, 'p', stop.signal);
    await settled();
    stop.abort(new Error('asked to'));
    await expect(changer).rejects.toThrow('asked to');
    await end('a');
    expect(happened).toEqual(['a writes', 'a runs', 'a ends']);
  });

  test('whoever was there together at any time knows that it was not alone', async () => {
    const { enter, end, settled } = controlled();
    const alone: Record<string, boolean> = {};
    const come = async (name: string, project = 'p') => {
      void enter(name, false, project).then((wasAccompanied) => (alone[name] = !wasAccompanied));
      await settled();
    };
    await come('elsewhere', 'q');
    await come('first');
    await end('first');
    await come('second');
    await come('third');
    await end('second');
    await come('fourth');
    await end('fourth');
    await end('third');
    await come('last');
    await end('last');
    await end('elsewhere');
    expect(alone).toEqual({
      elsewhere: true,
      first: true,
      second: false,
      third: false,
      fourth: false,
      last: true,
    });
  });

  test('of another project are not concerned', async () => {
    const { happened, enter, end, settled } = controlled();
    void enter('a', false, 'p');
    void enter('b', true, 'q');
    await settled();
    expect(happened).toContain('b runs');
    await end('a');
    await end('b');
  });

  test('whoever gives up its turn leaves at once, and lets nobody past the one ahead', async () => {
    const { happened, enter, end, settled } = controlled();
    const leaving = new AbortController();
    void enter('running', false);
    await settled();
    void enter('changing', true);
    const gone = enter('gone', false, 'p', leaving.signal);
    void enter('behind', false);
    leaving.abort(new Error('cancelled'));
    await expect(gone).rejects.toThrow('cancelled');
    await settled();
    expect(happened).toEqual(['running writes', 'running runs']);
    await end('running');
    await settled();
    expect(happened.slice(3)).toEqual(['changing writes', 'changing runs', 'behind writes', 'behind runs']);
    await end('changing');
    await end('behind');
  });

  test('whoever fails to write, or in its work, holds up nobody', async () => {
    const guard = new InputsGuard();
    const [project, name] = ['p', 'x'];
    const fails = () => Promise.reject(new Error('broken'));
    const fine = () => Promise.resolve(true);
    const { signal: stop } = new AbortController();
    await expect(
      guard.during(project, { name, wouldChange: fine, write: fails, stop }, fine),
    ).rejects.toThrow('broken');
    await expect(
      guard.during(project, { name, wouldChange: fails, write: fine, stop }, fine),
    ).rejects.toThrow('broken');
    await expect(
      guard.during(project, { name, wouldChange: fine, write: fine, stop }, fails),
    ).rejects.toThrow('broken');
    expect(await guard.during(project, { name, wouldChange: fine, write: fine, stop }, fine)).toBe(true);
  });
});
