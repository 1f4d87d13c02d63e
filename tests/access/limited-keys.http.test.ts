import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { layeredProject, parseAgentId, parseUserId, roles } from '@secbox/contracts';
import { startKeyedService, type Answer, type Call, type KeyedService } from './keyed-service.js';

/** A key for the users team-* sees what is theirs, and what it asked for itself (case 54). */
let service: KeyedService;
let everyones: string;
let limited: string;
const execs = { own: '', team: '', other: '', nobodys: '' };

const script = 'echo told > /workspace/artifacts/left; echo out';

async function execute(key: string, user: string): Promise<string> {
  const path = `/v1/sandbox/${user}/a1/execute?command=bash`;
  const answer = await service.call(path, { key, body: ['-c', script] });
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"exit_code":0')]);
  return (answer.body['data'] as { exec_id: string }).exec_id;
}

beforeAll(async () => {
  service = await startKeyedService();
  everyones = (await service.makeKey('default', roles)).key;
  limited = (await service.makeKey('default', roles, '--user-pattern', 'team-*', '--agent-pattern', 'a*'))
    .key;
  execs.own = (await service.run(limited, 'own', script)).exec_id;
  execs.team = await execute(everyones, 'team-1');
  execs.other = await execute(everyones, 'other');
  execs.nobodys = (await service.run(everyones, 'theirs', script)).exec_id;
});
afterAll(() => service.close());

const ask = (path: string, call: Call = {}): Promise<Answer> => service.call(path, { key: limited, ...call });
const seen = () => [execs.own, execs.team];
const hidden = () => [execs.other, execs.nobodys];

describe('every route of one exec', () => {
  test.each<[string, string, string?]>([
    ['GET /sandbox/execs/{exec_id}', ''],
    ['events', '/events'],
    ['artifacts', '/artifacts'],
    ['one artifact', '/artifacts/left'],
    ['artifacts.zip', '/artifacts.zip'],
    ['inputs', '/inputs'],
    ['stdout', '/stdout'],
    ['stderr', '/stderr'],
    ['cancel', '/cancel', 'POST'],
  ])('%s', async (_, path, method = 'GET') => {
    for (const id of seen()) {
      expect([id, (await ask(`/sandbox/execs/${id}${path}`, { method })).status]).toEqual([id, 200]);
    }
    for (const id of hidden()) {
      const answer = await ask(`/sandbox/execs/${id}${path}`, { method });
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'exec_not_found']);
    }
  });

  test('run_code, skills and one input', async () => {
    for (const path of ['/run_code/ID', '/skills/shell.run/execs/ID', '/sandbox/execs/ID/inputs/x']) {
      for (const id of hidden()) {
        const answer = await ask(path.replace('ID', id));
        expect([path, answer.body.error?.code]).toEqual([path, 'exec_not_found']);
      }
    }
    expect((await ask(`/run_code/${execs.own}`)).status).toBe(200);
    expect((await service.call(`/run_code/${execs.nobodys}`, { key: everyones })).status).toBe(200);
  });

  test('a running exec of somebody else is not cancelled', async () => {
    const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'sleep 30'] };
    const begun = await service.call('/sandbox/execs', {
      key: everyones,
      body: { project_id: 'theirs', exec },
      headers: { prefer: 'respond-async' },
    });
    const path = `/sandbox/execs/${String(begun.body['exec_id'])}`;
    expect((await ask(`${path}/cancel`, { method: 'POST' })).status).toBe(404);
    const after = await service.call(path, { key: everyones });
    expect(['queued', 'running']).toContain(after.body['status']);
    await service.call(`${path}/cancel`, { key: everyones, method: 'POST' });
  });
});

describe('lists, exports and figures', () => {
  test('have what is seen, page by page', async () => {
    const idsIn = ({ body }: Answer) => (body['execs'] as { exec_id: string }[]).map((exec) => exec.exec_id);
    const first = await ask('/sandbox/execs?limit=1&sort=created_at');
    const next = await ask(
      `/sandbox/execs?limit=1&sort=created_at&cursor=${encodeURIComponent(String(first.body['next_cursor']))}`,
    );
    expect([...idsIn(first), ...idsIn(next)]).toEqual(seen());
    expect(next.body['next_cursor']).toBeNull();
    for (const id of hidden()) {
      expect(idsIn(await service.call('/sandbox/execs', { key: everyones }))).toContain(id);
    }
    expect(idsIn(await ask('/sandbox/execs?q=artifacts')).sort()).toEqual(seen().sort());
  });

  test.each(['jsonl', 'csv'])('an export as %s', async (format) => {
    const { status, text } = await ask(`/sandbox/execs/export?format=${format}`);
    expect(status).toBe(200);
    for (const id of seen()) expect(text).toContain(id);
    for (const id of hidden()) expect(text).not.toContain(id);
  });

  test('figures', async () => {
    expect((await ask('/sandbox/execs/stats')).body['total']).toMatchObject({ execs: 2 });
  });
});

describe('what can be reached otherwise', () => {
  const layered = (user: string) => layeredProject('sandbox', parseUserId(user), parseAgentId('a1'));

  test('projects are listed with what is seen of them', async () => {
    const { projects } = (await ask('/projects?limit=1000')).body as unknown as {
      projects: { project_id: string; execs: number }[];
    };
    expect(projects.map(({ project_id: id, execs: count }) => [id, count]).sort()).toEqual(
      [
        ['own', 1],
        [layered('team-1'), 1],
      ].sort(),
    );
  });

  test('files of projects: no artifacts but by their exec, and nothing of a project without an exec of its own', async () => {
    for (const project of [layered('other'), layered('team-1'), 'theirs', 'own']) {
      for (const path of ['list', `file?path=${execs.other}/left`, `content?path=${execs.other}/left`]) {
        const answer = await ask(`/projects/${project}/files/artifacts/${path}`);
        expect([answer.status, answer.body.error?.code]).toEqual([403, 'subject_forbidden']);
      }
    }
    expect((await ask('/projects/theirs/files/work/list')).body.error?.code).toBe('project_not_found');
    expect((await ask('/projects/own/files/work/list')).status).toBe(200);
    expect((await service.call('/projects/theirs/files/work/list', { key: everyones })).status).toBe(200);
  });

  test('a file of an exec as an input of a skill', async () => {
    const invoke = (id: string) =>
      ask('/skills/csv.profile/invoke', { body: { inputs: { file: { exec_id: id, path: 'left' } } } });
    expect((await invoke(execs.team)).status).toBe(200);
    for (const id of hidden()) expect((await invoke(id)).body.error?.code).toBe('invalid_input');
  });

  test('an Idempotency-Key of somebody else', async () => {
    const body = { project_id: 'shared', exec: { kind: 'shell', command: 'bash', args: ['-lc', 'echo x'] } };
    const call = { body, headers: { 'idempotency-key': 'guessed' } };
    expect((await service.call('/sandbox/execs', { key: everyones, ...call })).status).toBe(200);
    expect((await ask('/sandbox/execs', call)).body.error?.code).toBe('idempotency_key_reused');
  });

  test.each([
    ['GET', '/approvals'],
    ['GET', '/approvals/live'],
    ['GET', '/audit/events'],
    ['GET', '/keys'],
    ['GET', '/settings'],
    ['GET', '/metrics'],
    ['DELETE', '/projects/theirs'],
  ])('%s %s is about everyone, and refused', async (method, path) => {
    expect((await ask(path, { method })).body.error?.code).toBe('subject_forbidden');
  });

  test('a key without a limit is made by no limited one', async () => {
    const answer = await ask('/keys', { body: { roles: ['worker'] } });
    expect(answer.body.error?.code).toBe('subject_forbidden');
  });
});
