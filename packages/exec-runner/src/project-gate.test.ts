import { describe, expect, test } from '@jest/globals';
import { ProjectGate } from './project-gate.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

function controlled() {
  const gate = new ProjectGate();
  const happened: string[] = [];
  const enter = async (name: string, project = 'p') => {
    const stop = new AbortController();
    const leave = await gate.enter(project, stop);
    happened.push(`${name} enters`);
    return { stop, leave };
  };
  const ends = new Map<string, () => void>();
  const alone = (name: string, { project = 'p', reason }: { project?: string; reason?: Error } = {}) =>
    gate.alone(
      project,
      async () => {
        happened.push(`${name} is alone`);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        happened.push(`${name} ends`);
        return name;
      },
      reason,
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { happened, enter, alone, end };
}

describe('a project', () => {
  test('is had by any number of execs, and then by nobody else', async () => {
    const { enter, alone, happened } = controlled();
    const first = await enter('a');
    const second = await enter('b');
    await expect(alone('c')).rejects.toMatchObject({ code: 'project_in_use', details: { execs: 2 } });
    first.leave();
    await expect(alone('c')).rejects.toMatchObject({ code: 'project_in_use', details: { execs: 1 } });
    second.leave();
    expect(happened).toEqual(['a enters', 'b enters']);
  });

  test('is had by one alone, and who comes meanwhile waits', async () => {
    const { enter, alone, end, happened } = controlled();
    const removing = alone('r');
    const waiting = [enter('a'), enter('b')];
    const next = alone('s');
    const elsewhere = await enter('c', 'other');
    await settled();
    expect(happened).toEqual(['r is alone', 'c enters']);
    await end('r');
    expect(await removing).toBe('r');
    for (const entering of waiting) (await entering).leave();
    expect(happened.slice(0, 5)).toEqual(['r is alone', 'c enters', 'r ends', 'a enters', 'b enters']);
    elsewhere.leave();
    // It came last: either the execs were there before it, or it waits for its turn.
    await Promise.allSettled([next, end('s')]);
  });

  test('is given free by those who are there when they are told to end, and by none that come after', async () => {
    const { enter, alone, end, happened } = controlled();
    const { stop, leave } = await enter('a');
    const reason = new Error('removed');
    const removing = alone('r', { reason });
    const late = enter('late');
    await settled();
    expect([stop.signal.reason, happened]).toEqual([reason, ['a enters']]);
    leave();
    await settled();
    expect(happened).toEqual(['a enters', 'r is alone']);
    await end('r');
    await removing;
    expect((await late).stop.signal.aborted).toBe(false);
  });

  test('may be left twice', async () => {
    const { enter, alone, end } = controlled();
    const { leave } = await enter('a');
    leave();
    const removing = alone('r');
    leave();
    const entering = enter('b');
    await settled();
    await end('r');
    await removing;
    const second = await entering;
    leave();
    await expect(alone('s')).rejects.toMatchObject({ code: 'project_in_use' });
    second.leave();
  });

  test('is free again after a failure', async () => {
    const gate = new ProjectGate();
    await expect(gate.alone('p', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    const leave = await gate.enter('p', new AbortController());
    leave();
    await expect(gate.alone('p', () => Promise.resolve(1))).resolves.toBe(1);
  });
});
