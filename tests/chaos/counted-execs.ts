import type { ExecAnswer } from '@secbox/contracts';
import { setTimeout as pause } from 'node:timers/promises';
import type { SeededRandom } from '../soak/seeded-random.js';

export interface CountedLoad {
  /** Where the server is at this moment; it comes back elsewhere after it was killed. */
  readonly url: () => string;
  /** At least. */
  readonly execs: number;
  /** Whether more are to be sent, although so many were. */
  readonly more: () => boolean;
  readonly atOnce: number;
  readonly name: string;
  readonly random: SeededRandom;
  readonly onDone?: (done: number) => void;
}

const projects = 5;

/**
 * Execs that each leave one line in a file of their own for every time that they run. Every one is sent again,
 * under its key, until it was taken on, and asked for until it is over: that is all a worker can do.
 */
export async function runCountedExecs({
  url,
  execs,
  more,
  atOnce,
  name,
  random,
  onDone,
}: CountedLoad): Promise<ExecAnswer[]> {
  const waiting = (function* execsToSend() {
    for (let n = 0; n < execs || more(); n += 1) {
      const project = `chaos-${random.between(1, projects)}`;
      yield { file: `${name}-${n}`, project, sleep: random.next() * 0.6 };
    }
  })();
  const answers: ExecAnswer[] = [];
  const worker = async () => {
    for (const { file, project, sleep } of waiting) {
      const script = `echo ran >> ${file}; sleep ${sleep.toFixed(2)}; echo ${file}`;
      const { exec_id: execId } = await untilAnswered(url, '/sandbox/execs', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          prefer: 'respond-async',
          'idempotency-key': file,
        },
        body: JSON.stringify({
          project_id: project,
          exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
        }),
      });
      answers.push(await untilOver(url, execId));
      onDone?.(answers.length);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answers;
}

/** How often each of them ran, by its own account. */
export async function countRuns(url: () => string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (let n = 1; n <= projects; n += 1) {
    const { exec_id: execId } = await untilAnswered(url, '/sandbox/execs?wait=false', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: `chaos-${n}`,
        exec: { kind: 'shell', command: 'bash', args: ['-lc', 'wc -l * 2>/dev/null; true'] },
      }),
    });
    const { stdout } = await untilOver(url, execId);
    for (const [, count, file = ''] of stdout.matchAll(/^ *(\d+) (\S+-\d+)$/gm))
      counts.set(file, Number(count));
  }
  return counts;
}

/** A server that is gone, full, or without an engine or database is asked again. */
async function untilAnswered(url: () => string, path: string, init: RequestInit): Promise<ExecAnswer> {
  for (;;) {
    try {
      const response = await fetch(`${url()}${path}`, init);
      const body = (await response.json()) as ExecAnswer;
      if (response.ok) return body;
      if (response.status < 429) throw new Refused(`${response.status} ${JSON.stringify(body)}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
    }
    await pause(100);
  }
}

async function untilOver(url: () => string, execId: string): Promise<ExecAnswer> {
  for (;;) {
    const answer = await untilAnswered(url, `/sandbox/execs/${execId}`, {});
    if (answer.ended_at !== null) return answer;
    await pause(100);
  }
}

class Refused extends Error {}
