import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash, randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecAnswer } from '@secbox/contracts';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

interface SentEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly status?: string; readonly base64?: string };
}

async function submit(script: string, projectId: string, overrides = {}): Promise<string> {
  const response = await fetch(`${service.url}/sandbox/execs?wait=false`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: projectId,
      exec: { kind: 'shell', command: 'bash', args: ['-lc', script] },
      policy_overrides: overrides,
    }),
  });
  return ((await response.json()) as ExecAnswer).exec_id;
}

/** The events from a position on, until the stream ends or `enough` says so. */
async function* eventsOf(execId: string, after?: string): AsyncGenerator<SentEvent> {
  const leaving = new AbortController();
  const response = await fetch(`${service.url}/sandbox/execs/${execId}/events`, {
    headers: after === undefined ? {} : { 'last-event-id': after },
    signal: leaving.signal,
  });
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks.filter((each) => !each.startsWith(':'))) yield parse(block);
    }
  } finally {
    leaving.abort();
  }
}

function parse(block: string): SentEvent {
  const fields = new Map(
    block.split('\n').map((line) => [line.split(': ')[0] ?? '', line.replace(/^\w+: /, '')]),
  );
  return {
    id: fields.get('id') ?? '',
    event: fields.get('event') ?? '',
    data: JSON.parse(fields.get('data') ?? '') as SentEvent['data'],
  };
}

async function all(events: AsyncIterable<SentEvent>): Promise<SentEvent[]> {
  const list: SentEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

const bytesOf = (events: readonly SentEvent[], stream: string) =>
  Buffer.concat(
    events
      .filter(({ event }) => event === stream)
      .map(({ data }) => Buffer.from(data.base64 ?? '', 'base64')),
  );

const letGo = (projectId: string, file = 'go') =>
  writeFile(join(service.dataDir, 'workspace/projects', projectId, 'work', file), '');
const until = (file: string) => `while [ ! -e ${file} ]; do sleep 0.02; done`;

describe('GET …/events', () => {
  test('tells states and output while it happens, and ends with the exec', async () => {
    const execId = await submit(`echo one; ${until('go')}; echo two; echo three >&2; exit 3`, 'live');
    const seen: SentEvent[] = [];
    for await (const event of eventsOf(execId)) {
      seen.push(event);
      // Its first line has come while it waits for this.
      if (bytesOf(seen, 'stdout').toString() === 'one\n') await letGo('live');
    }
    expect(bytesOf(seen, 'stdout').toString()).toBe('one\ntwo\n');
    expect(bytesOf(seen, 'stderr').toString()).toBe('three\n');
    const states = seen.filter(({ event }) => event === 'state').map(({ data }) => data.status);
    expect(states.at(-1)).toBe('failed');
    expect(states).toContain('running');
    expect(seen.at(-1)).toMatchObject({ id: '8.6.3', event: 'state' });
  });

  test('goes on after any event, without a byte lost or sent twice', async () => {
    const execId = await submit('seq 1 60000; seq 1 60000 >&2', 'resume');
    const whole = await all(eventsOf(execId));
    const { stdout_path: stdoutPath, stderr_path: stderrPath } = (await (
      await fetch(`${service.url}/sandbox/execs/${execId}`)
    ).json()) as ExecAnswer;
    expect(bytesOf(whole, 'stdout')).toEqual(await readFile(stdoutPath));
    expect(bytesOf(whole, 'stderr')).toEqual(await readFile(stderrPath));

    for (const [index, event] of whole.entries()) {
      const rest = await all(eventsOf(execId, event.id));
      const joined = [...whole.slice(0, index + 1), ...rest];
      expect(bytesOf(joined, 'stdout').equals(bytesOf(whole, 'stdout'))).toBe(true);
      expect(bytesOf(joined, 'stderr').equals(bytesOf(whole, 'stderr'))).toBe(true);
      expect(joined.at(-1)?.data.status).toBe('succeeded');
    }
  });

  test('of an exec that is over tells all of it again', async () => {
    const { exec_id: execId } = await service.shell('echo past', { project_id: 'over' });
    const events = await all(eventsOf(execId));
    expect(events.map(({ event }) => event)).toEqual(['stdout', 'state']);
    expect(bytesOf(events, 'stdout').toString()).toBe('past\n');
  });

  test('many watchers, some of which leave, all see the same', async () => {
    const execId = await submit(`echo first; ${until('go')}; head -c 300000 /dev/zero | tr '\\0' z`, 'many');
    const leavers = Array.from({ length: 5 }, async () => {
      for await (const event of eventsOf(execId)) if (event.event === 'stdout') return;
    });
    await Promise.all(leavers);
    const watchers = Array.from({ length: 10 }, () => all(eventsOf(execId)));
    await letGo('many');
    const digests = (await Promise.all(watchers)).map((events) =>
      createHash('sha256').update(bytesOf(events, 'stdout')).digest('hex'),
    );
    expect(new Set(digests)).toEqual(
      new Set([
        createHash('sha256')
          .update(`first\n${'z'.repeat(300_000)}`)
          .digest('hex'),
      ]),
    );
  });

  test('shows what the program printed, not what it planted', async () => {
    const execId = await submit(
      `echo forged > /workspace/artifacts/stdout.txt; touch planted; ${until('go')}; echo real`,
      'plant',
    );
    const seen: SentEvent[] = [];
    for await (const event of eventsOf(execId)) {
      seen.push(event);
      if (event.data.status === 'running') await letGo('plant');
    }
    expect(bytesOf(seen, 'stdout').toString()).toBe('real\n');
  });

  test('a bad position is a 400, an unknown exec a 404', async () => {
    const status = async (execId: string, after?: string) =>
      (
        await fetch(`${service.url}/sandbox/execs/${execId}/events`, {
          headers: after === undefined ? {} : { 'last-event-id': after },
        })
      ).status;
    expect(await status(randomUUID(), 'x')).toBe(400);
    expect(await status(randomUUID(), '1.2.9')).toBe(400);
    expect(await status(randomUUID())).toBe(404);
    expect(await status('..%2f')).toBe(400);
  });
});
