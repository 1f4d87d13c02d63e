import { describe, expect, test } from '@jest/globals';
import { parseAgentId } from '@secbox/contracts';
import { AgentLocks } from './agent-locks.js';

const agent = parseAgentId('a');

/** Work that goes on until it is told to end, and writes down when it does. */
function gate(log: string[], name: string) {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return {
    work: async () => {
      log.push(`${name} begins`);
      await ended;
      log.push(`${name} ends`);
    },
    end: () => end(),
  };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('the lock of an agent', () => {
  test('readers run together, a writer is alone', async () => {
    const locks = new AgentLocks();
    const log: string[] = [];
    const [one, two, writer] = [gate(log, 'r1'), gate(log, 'r2'), gate(log, 'w')];
    const all = [
      locks.shared(agent, one.work),
      locks.shared(agent, two.work),
      locks.alone(agent, writer.work),
    ];
    await settle();
    expect(log).toEqual(['r1 begins', 'r2 begins']);
    one.end();
    await settle();
    expect(log).not.toContain('w begins');
    two.end();
    await settle();
    expect(log.at(-1)).toBe('w begins');
    writer.end();
    await Promise.all(all);
  });

  test('nobody is overtaken: readers that come after a waiting writer wait for it', async () => {
    const locks = new AgentLocks();
    const log: string[] = [];
    const gates = ['r1', 'w1', 'r2', 'w2', 'r3'].map((name) => gate(log, name));
    const all = gates.map(({ work }, n) =>
      n % 2 === 0 ? locks.shared(agent, work) : locks.alone(agent, work),
    );
    for (const each of gates) {
      await settle();
      each.end();
    }
    await Promise.all(all);
    expect(log).toEqual(['r1', 'w1', 'r2', 'w2', 'r3'].flatMap((name) => [`${name} begins`, `${name} ends`]));
  });

  test('other agents do not wait, and a failure holds nobody up', async () => {
    const locks = new AgentLocks();
    const log: string[] = [];
    const writer = gate(log, 'w');
    const writing = locks.alone(agent, writer.work);
    await locks.alone(parseAgentId('b'), () => Promise.resolve());
    writer.end();
    await writing;
    await expect(locks.alone(agent, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    await locks.shared(agent, () => Promise.resolve());
  });
});
