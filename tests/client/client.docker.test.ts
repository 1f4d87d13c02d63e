import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ApiError, ConnectionError, SecboxClient, type ExecEvent } from '@secbox/client';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { brokenLine, type BrokenLine } from './broken-line.js';

let service: KeyedService;
let line: BrokenLine;
let worker: SecboxClient;
let auditor: SecboxClient;
let overTheLine: SecboxClient;

beforeAll(async () => {
  service = await startKeyedService();
  line = await brokenLine(service.url);
  const { key } = await service.makeKey('default', ['worker']);
  worker = new SecboxClient({ url: `${service.url}/`, key });
  overTheLine = new SecboxClient({ url: line.url, key, retry: { delayMs: 5 } });
  const { key: auditKey } = await service.makeKey('default', ['auditor']);
  auditor = new SecboxClient({ url: service.url, key: auditKey });
});
afterAll(async () => {
  await line.close();
  await service.close();
});

const shell = (script: string, project = 'p') => ({
  project_id: project,
  exec: { kind: 'shell' as const, command: 'bash', args: ['-lc', script] },
});

const all = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

const textOf = (events: readonly ExecEvent[], stream: 'stdout' | 'stderr') =>
  Buffer.concat(events.flatMap((event) => (event.type === stream ? [event.data] : []))).toString();

describe('execs', () => {
  test('are handed over, followed and waited for', async () => {
    const submitted = await worker.execs.submit(shell('echo out; echo err >&2; exit 3'));
    expect(['queued', 'running']).toContain(submitted.status);
    const events: ExecEvent[] = [];
    const ended = await worker.execs.wait(submitted.exec_id, { onEvent: (event) => events.push(event) });
    expect(ended).toMatchObject({ status: 'failed', exit_code: 3, stdout: 'out\n' });
    expect([textOf(events, 'stdout'), textOf(events, 'stderr')]).toEqual(['out\n', 'err\n']);
    expect(events.at(-1)).toMatchObject({ type: 'state', status: 'failed' });
    expect(await worker.execs.run(shell('echo at once'))).toMatchObject({ stdout: 'at once\n' });
  });

  test('end when they are cancelled, and not when their caller leaves', async () => {
    const { exec_id: execId } = await worker.execs.submit(shell('echo begun; sleep 250'));
    const leaving = new AbortController();
    const reason = new Error('had enough');
    const waiting = worker.execs.wait(execId, {
      signal: leaving.signal,
      onEvent: ({ type }) => type === 'stdout' && leaving.abort(reason),
    });
    await expect(waiting).rejects.toBe(reason);
    expect(await worker.execs.get(execId)).toMatchObject({ status: 'running' });
    expect(await worker.execs.cancel(execId)).toMatchObject({ status: 'cancelled' });
    expect(await worker.execs.cancel(execId)).toMatchObject({ status: 'cancelled' });
  });

  test('files are listed in pages and come with their hash', async () => {
    const script =
      'cd ../artifacts; mkdir "a b"; echo one > "a b/ü#?.txt"; printf x > $\'\\xff\'; echo "$0" >&2';
    const { exec_id: execId, artifacts } = await worker.execs.run({
      ...shell(script),
      inputs: [{ path: 'given.txt', content: 'given' }],
    });
    const listed = await all(worker.execs.artifacts(execId));
    expect(listed.filter(({ kind }) => kind === 'file')).toHaveLength(2);
    const file = await worker.execs.openArtifact(execId, 'a b/ü#?.txt');
    expect(file).toMatchObject({ size: 4, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect(Buffer.from(await file.bytes()).toString()).toBe('one\n');
    for (const artifact of artifacts) {
      const opened = await worker.execs.openArtifact(execId, artifact);
      expect((await opened.bytes()).length).toBe(artifact.size);
    }
    const stderr = await worker.execs.openOutput(execId, 'stderr');
    expect(Buffer.from(await stderr.bytes()).toString()).toBe('bash\n');
    const zip = await worker.execs.openZip(execId);
    expect(
      Buffer.from(await zip.bytes())
        .subarray(0, 2)
        .toString(),
    ).toBe('PK');
    expect(await all(worker.execs.inputs(execId))).toContainEqual(
      expect.objectContaining({ path: 'given.txt', size: 5 }),
    );
  });
});

describe('a line that breaks', () => {
  test('an answer that was lost is asked for again, and nothing runs twice', async () => {
    const [before, project] = [line.connections(), 'lost-answers'];
    line.cutAfter(0, 1, 40);
    const answer = await overTheLine.execs.run(shell('echo ran >> ran; cat ran', project));
    expect(answer).toMatchObject({ status: 'succeeded', stdout: 'ran\n' });
    expect(line.connections() - before).toBeGreaterThanOrEqual(4);
    expect(await all(worker.audit.list({ project_id: project }))).toHaveLength(1);
  });

  test('events go on where they broke off: no gap, nothing twice', async () => {
    const script = 'for n in $(seq 400); do echo "line $n"; [ $((n % 100)) = 0 ] && sleep 0.05; done; true';
    const { exec_id: execId } = await worker.execs.submit(shell(script, 'events'));
    line.cutAfter(700, 900, 1500, 3000);
    const events = await all(overTheLine.execs.events(execId));
    const lines = Array.from({ length: 400 }, (_, index) => `line ${index + 1}\n`).join('');
    expect(textOf(events, 'stdout')).toBe(lines);
    expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);
    expect(events.at(-1)).toMatchObject({ type: 'state', status: 'succeeded' });
    const later = await all(overTheLine.execs.events(execId, { after: events.at(-2)?.id }));
    expect(later).toEqual(events.slice(-1));
  });

  test('a server that is not there is told as that, once all attempts were made', async () => {
    const nobody = new SecboxClient({ url: 'http://127.0.0.1:1', retry: { attempts: 2, delayMs: 1 } });
    const failure = await nobody.health().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionError);
    expect((failure as Error).message).toMatch(
      /^http:\/\/127\.0\.0\.1:1 was not reached: .*(ECONNREFUSED|bad port)/,
    );
    expect(() => new SecboxClient({ url: 'localhost:8003' })).toThrow(/is not the URL of a server/);
  });

  test('a server that asks for patience gets it, and then the same request with the same key', async () => {
    const asked: { readonly method?: string | undefined; readonly key: unknown; readonly at: number }[] = [];
    const busy = createServer((request, response) => {
      asked.push({ method: request.method, key: request.headers['idempotency-key'], at: performance.now() });
      const error = { kind: 'rate_limited', code: 'queue_full', message: 'Later.' };
      if (asked.length > 1) response.writeHead(200).end('{"status":"succeeded"}');
      else
        response
          .writeHead(429)
          .end(JSON.stringify({ error: { ...error, details: { retry_after_seconds: 0.2 } } }));
    }).listen(0, '127.0.0.1');
    await once(busy, 'listening');
    try {
      const client = new SecboxClient({ url: `http://127.0.0.1:${(busy.address() as AddressInfo).port}` });
      await client.execs.submit(shell('true'));
      expect(asked).toHaveLength(2);
      expect(asked[1]?.key).toBe(asked[0]?.key);
      expect((asked[1]?.at ?? 0) - (asked[0]?.at ?? 0)).toBeGreaterThanOrEqual(190);
    } finally {
      busy.closeAllConnections();
      busy.close();
    }
  });
});

describe('what is refused', () => {
  test('is an error with its code, kind and details; the key is not in it', async () => {
    const failure = await worker.skills
      .invoke('json.query', { inputs: { document: 1 } })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ApiError);
    expect(failure).toMatchObject({ status: 400, kind: 'invalid', code: 'invalid_input' });
    expect((failure as ApiError).details).toMatchObject({
      problems: [{ pointer: '/inputs', message: expect.stringContaining('filter') }],
    });
    expect((failure as ApiError).requestId).toMatch(/^[0-9a-f-]{36}$/);
    const stranger = new SecboxClient({ url: service.url, key: 'sbx_canary' });
    const refused = await stranger.health().catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(JSON.stringify(refused) + String(refused)).not.toContain('canary');
    await expect(worker.audit.export({ format: 'csv' })).rejects.toMatchObject({ code: 'role_required' });
  });

  test('the same key with another request is', async () => {
    const idempotencyKey = 'once-and-no-more';
    const first = await worker.execs.run(shell('echo 1'), { idempotencyKey });
    const same = await worker.execs.run(shell('echo 1'), { idempotencyKey });
    expect(same.exec_id).toBe(first.exec_id);
    await expect(worker.execs.run(shell('echo 2'), { idempotencyKey })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });
});

describe('skills', () => {
  test('are listed, shown and invoked', async () => {
    const ids = (await all(worker.skills.list({ limit: 3 }))).map(({ id }) => id);
    expect(ids).toEqual([...ids].sort());
    expect(ids).toContain('json.query');
    expect((await worker.skills.get('json.query')).readme).toContain('# json.query');
    expect((await worker.skills.files('json.query')).files.map(({ path }) => path)).toContain('query.sh');
    const inputs = { document: { a: [1, 2, 3] }, filter: '.a | add' };
    const answer = await worker.skills.invoke('json.query', { inputs });
    expect(answer).toMatchObject({ status: 'succeeded', output: { results: [6], truncated: false } });
    expect(await worker.skills.invocation('json.query', answer.exec_id)).toEqual(answer);
  });

  test('have a revision that stays as long as they do', async () => {
    const revision = await worker.skills.revision();
    expect(revision).not.toBe('');
    expect(await worker.skills.revision()).toBe(revision);
  });
});

test('what ran is listed, shown, counted and exported', async () => {
  const { exec_id: execId } = await worker.execs.run(shell('echo for the auditor', 'audited'));
  const query = { project_id: 'audited' };
  expect((await auditor.audit.page({ ...query, limit: 1 })).execs).toMatchObject([{ exec_id: execId }]);
  expect(await auditor.audit.show(execId)).toMatchObject({ stdout: 'for the auditor\n' });
  expect((await auditor.audit.stats(query)).total.execs).toBe(1);
  const exported = await auditor.audit.export({ ...query, format: 'jsonl' });
  const rows = Buffer.from(await exported.bytes())
    .toString()
    .trimEnd()
    .split('\n');
  expect(rows.map((row) => (JSON.parse(row) as { exec_id: string }).exec_id)).toEqual([execId]);
  expect((await auditor.audit.securityEvents({ limit: 1 })).events).toHaveLength(1);
  expect(await worker.health()).toMatchObject({ status: 'ok' });
});
