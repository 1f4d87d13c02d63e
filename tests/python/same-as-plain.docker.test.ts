import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import type { Program } from './program.js';
import { ends } from './programs/ends.js';
import { identity } from './programs/identity.js';
import { processes } from './programs/processes.js';
import { sources } from './programs/sources.js';
import { streams } from './programs/streams.js';
import { PythonContainers, type Ran } from './python-container.js';
import { runPlainly, type Told } from './run-plainly.js';

const programs: readonly Program[] = [...identity, ...ends, ...streams, ...sources, ...processes];
const atOnce = 4;

/** Every byte; but where something lies in memory is another place at every start of a program. */
const bytes = ({ end, stdout, stderr }: Told) => {
  const text = (data: Buffer) => data.toString('latin1').replaceAll(/\b0x[0-9a-f]{12,16}\b/g, '0x…');
  return { end, stdout: text(stdout), stderr: text(stderr) };
};

function toldBy({ outcome, stdout, stderr }: Ran): Told {
  if (outcome.kind !== 'ended') throw new Error(`It was not started: ${outcome.step}.`);
  return { end: outcome.exit.end, stdout, stderr };
}

describe('a python that was up is to a program what one is that is started for it', () => {
  jest.setTimeout(300_000);
  let containers: PythonContainers;
  let running: Promise<unknown>;
  const plain = new Map<string, Told>();
  const ahead = new Map<string, Ran>();

  beforeAll(async () => {
    containers = await PythonContainers.open();
    const installed = await Promise.all(
      programs.map((program, number) => containers.install(program, number)),
    );
    const together = installed.filter(({ alone }) => alone !== true);
    const jobs = [
      async () => {
        const results = await runPlainly(containers, together);
        for (const [index, result] of results.entries()) plain.set(together[index]?.name ?? '', result);
      },
      ...installed
        .filter(({ alone }) => alone === true)
        .map((program) => async () => {
          plain.set(program.name, toldBy(await containers.run(program, 'plain')));
        }),
      ...installed.map((program) => async () => {
        ahead.set(program.name, await containers.run(program, 'ahead'));
      }),
    ];
    const work = async () => {
      for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) await job();
    };
    running = Promise.all(Array.from({ length: atOnce }, work));
    await running;
  });

  afterAll(async () => {
    await Promise.allSettled([running]);
    await containers.close();
  });

  test.each(programs.map((program) => [program.name, program] as const))('%s', (_name, program) => {
    const expected = plain.get(program.name);
    const ran = ahead.get(program.name);
    if (expected === undefined || ran === undefined) throw new Error('It was not run.');
    expect(ran.start).toBe('ahead');
    expect(bytes(toldBy(ran))).toEqual(bytes(expected));

    // The same, and also what the program is there to show.
    const { ends: end = 0, says, complains } = program;
    const wanted = typeof end === 'number' ? { kind: 'exited', code: end } : { kind: 'signaled', ...end };
    expect(ran.outcome).toMatchObject({ kind: 'ended', exit: { end: wanted, alone: true } });
    if (says) expect(ran.stdout.toString()).toMatch(says);
    if (complains) expect(ran.stderr.toString()).toMatch(complains);
    else if (end === 0) expect(ran.stderr.toString()).toBe('');
  });

  test('there are as many programs as were promised, under names of their own', () => {
    expect(programs.length).toBeGreaterThanOrEqual(80);
    expect(new Set(programs.map(({ name }) => name)).size).toBe(programs.length);
  });
});
