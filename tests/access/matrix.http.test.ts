import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { roles, type Role } from '@secbox/contracts';
import { routeAccess, type RouteAccess, type RouteName } from '@secbox/core-api';
import { initialize } from '../mcp/initialize.js';
import { fileCalls, type Asked, type Target } from './file-calls.js';
import { startKeyedService, type Answer, type KeyedService } from './keyed-service.js';

const tenants = ['default', 'acme'] as const;
type Tenant = (typeof tenants)[number];

const shell = (script: string) => ({ kind: 'shell', command: 'bash', args: ['-lc', script] });

const skill = '/skills/shell.run';
const invocation = (project: string) => ({
  project_id: project,
  inputs: { script: 'cat /workspace/inputs/given' },
});

/** One well-formed call of each route. A route that is not here does not compile. */
const asked: Readonly<Record<RouteName, (target: Target) => Asked>> = {
  'POST /sandbox/execs': ({ project }) => ({
    path: '/sandbox/execs',
    body: { project_id: project, exec: shell('ls /workspace/inputs') },
  }),
  'GET /sandbox/execs': () => ({ path: '/sandbox/execs?limit=1000' }),
  'GET /sandbox/execs/export': () => ({ path: '/sandbox/execs/export?format=jsonl' }),
  'GET /sandbox/execs/stats': () => ({ path: '/sandbox/execs/stats' }),
  'GET /sandbox/execs/{exec_id}': ({ execId }) => ({ path: `/sandbox/execs/${execId}` }),
  'POST /sandbox/execs/{exec_id}/cancel': ({ execId }) => ({
    path: `/sandbox/execs/${execId}/cancel`,
    method: 'POST',
  }),
  'GET /sandbox/execs/{exec_id}/events': ({ execId }) => ({ path: `/sandbox/execs/${execId}/events` }),
  'GET /sandbox/execs/{exec_id}/artifacts': ({ execId }) => ({ path: `/sandbox/execs/${execId}/artifacts` }),
  'GET /sandbox/execs/{exec_id}/artifacts/{path}': ({ execId }) => ({
    path: `/sandbox/execs/${execId}/artifacts/left`,
  }),
  'GET /sandbox/execs/{exec_id}/artifacts.zip': ({ execId }) => ({
    path: `/sandbox/execs/${execId}/artifacts.zip`,
  }),
  'GET /sandbox/execs/{exec_id}/inputs': ({ execId }) => ({ path: `/sandbox/execs/${execId}/inputs` }),
  'GET /sandbox/execs/{exec_id}/inputs/{path}': ({ execId }) => ({
    path: `/sandbox/execs/${execId}/inputs/given`,
  }),
  'GET /sandbox/execs/{exec_id}/stdout': ({ execId }) => ({ path: `/sandbox/execs/${execId}/stdout` }),
  'GET /sandbox/execs/{exec_id}/stderr': ({ execId }) => ({ path: `/sandbox/execs/${execId}/stderr` }),
  'POST /run_code': ({ project }) => ({
    path: '/run_code',
    body: { code: 'ls /workspace/inputs', language: 'bash', project_id: project },
  }),
  'GET /run_code/{exec_id}': ({ execId }) => ({ path: `/run_code/${execId}` }),
  'GET /skills': () => ({ path: '/skills' }),
  'GET /skills/{skill_id}': () => ({ path: skill }),
  'GET /skills/{skill_id}/files': () => ({ path: `${skill}/files` }),
  'POST /skills/{skill_id}/invoke': ({ project }) => ({
    path: `${skill}/invoke`,
    body: invocation(project),
  }),
  'GET /skills/{skill_id}/execs/{exec_id}': ({ invocationId }) => ({
    path: `${skill}/execs/${invocationId}`,
  }),
  'GET /approvals': () => ({ path: '/approvals?limit=1000' }),
  'GET /approvals/live': () => ({ path: '/approvals/live', status: 426 }),
  'GET /approvals/{approval_id}': ({ heldId }) => ({ path: `/approvals/${heldId}` }),
  'GET /approvals/{approval_id}/inputs/{path}': ({ heldId }) => ({
    path: `/approvals/${heldId}/inputs/${heldId}/input.json`,
  }),
  'POST /approvals/{approval_id}/decision': ({ heldId, planHash }) => ({
    path: `/approvals/${heldId}/decision`,
    body: { decision: 'deny', plan_hash: planHash },
  }),
  'POST /mcp': () => ({
    path: '/mcp',
    body: initialize,
    headers: { accept: 'application/json, text/event-stream' },
  }),
  // A session is one key's: tests/mcp/sessions.http.test.ts.
  'GET /mcp': () => ({ path: '/mcp', headers: { 'mcp-session-id': randomUUID() }, status: 404 }),
  'DELETE /mcp': () => ({
    path: '/mcp',
    method: 'DELETE',
    headers: { 'mcp-session-id': randomUUID() },
    status: 404,
  }),
  ...fileCalls,
  'GET /projects': () => ({ path: '/projects?limit=1000' }),
  'DELETE /projects/{project_id}': ({ project }) => ({ path: `/projects/${project}-gone`, method: 'DELETE' }),
  'POST /retention/run': () => ({ path: '/retention/run', method: 'POST' }),
  'GET /settings': () => ({ path: '/settings' }),
  'PUT /settings': () => ({
    path: '/settings',
    method: 'PUT',
    body: {},
    headers: { 'if-match': '"4711"' },
    status: 412,
  }),
  'GET /settings/history': () => ({ path: '/settings/history' }),
  'POST /keys': () => ({ path: '/keys', body: { roles: ['worker'] }, status: 201 }),
  'GET /keys': () => ({ path: '/keys?limit=1000' }),
  'DELETE /keys/{key_id}': ({ keyId }) => ({ path: `/keys/${keyId}`, method: 'DELETE' }),
  'GET /audit/events': () => ({ path: '/audit/events?limit=1000' }),
  'GET /metrics': () => ({ path: '/metrics' }),
  'GET /healthz': () => ({ path: '/healthz' }),
  'GET /sandbox/health': () => ({ path: '/sandbox/health' }),
  'GET /openapi.json': () => ({ path: '/openapi.json' }),
  'GET /docs': () => ({ path: '/docs' }),
  'GET /docs/show.js': () => ({ path: '/docs/show.js' }),
  'GET /docs/swagger-ui.css': () => ({ path: '/docs/swagger-ui.css' }),
  'GET /docs/swagger-ui-bundle.js': () => ({ path: '/docs/swagger-ui-bundle.js' }),
};

let service: KeyedService;
const keys = new Map<string, string>();
const targets = new Map<Tenant, Target>();
let calls = 0;

const keyOf = (tenant: Tenant, role: Role) => keys.get(`${tenant} ${role}`) ?? '';
const targetOf = (tenant: Tenant): Target => {
  const target = targets.get(tenant);
  if (!target) throw new Error(`Nothing was made for ${tenant}.`);
  return target;
};

beforeAll(async () => {
  service = await startKeyedService({ SECBOX_TRUST_PROXY: '1' });
  for (const tenant of tenants) {
    for (const role of roles) keys.set(`${tenant} ${role}`, (await service.makeKey(tenant, [role])).key);
  }
  await service.call('/settings', {
    key: keyOf('default', 'admin'),
    method: 'PUT',
    headers: { 'if-match': '"0"' },
    body: { approvals: { skills: ['python.run'] } },
  });
  for (const tenant of tenants) {
    const project = `project-of-${tenant}`;
    const script = 'echo out; echo err >&2; echo left > /workspace/artifacts/left';
    const inputs = [{ path: 'given', content: `secret of ${tenant}` }];
    const worker = keyOf(tenant, 'worker');
    const { exec_id: execId } = await service.run(worker, project, script, { inputs });
    await service.run(worker, `${project}-gone`, 'true');
    await service.run(worker, `${project}-files`, 'true', { inputs });
    const [user, layered] = [`user-of-${tenant}`, `skill-of-${tenant}`];
    const put = { key: worker, method: 'PUT', body: `secret of ${tenant}` };
    await service.call(`/v1/skills/${user}/agent/${layered}/edit?path=SKILL.md`, put);
    await service.call(`/v1/sandbox/${user}/agent/edit?path=kept`, put);
    const baseline = { key: keyOf(tenant, 'author'), method: 'POST' };
    await service.call(`/v1/skills/${user}/agent/${layered}/baseline`, baseline);
    const { keyId } = await service.makeKey(tenant, ['worker']);
    const invoked = await service.call(`${skill}/invoke`, { key: worker, body: invocation(project) });
    const held = await service.call('/skills/python.run/invoke', {
      key: worker,
      body: { inputs: { code: `pass # secret of ${tenant}` } },
    });
    const heldId = String(held.body['exec_id']);
    const seen = await service.call(`/approvals/${heldId}`, { key: keyOf(tenant, 'approver') });
    const planHash = String(seen.body['plan_hash']);
    const invocationId = String(invoked.body['exec_id']);
    targets.set(tenant, { execId, invocationId, project, keyId, user, layered, heldId, planHash });
  }
});
afterAll(() => service.close());

async function send(
  { path, status: _, everywhere: __, ...call }: Asked,
  key: string | undefined,
): Promise<Answer> {
  calls += 1;
  // Each from an address of its own: so many without a key from one are too many.
  const from = { 'x-forwarded-for': `10.0.${calls >> 8}.${calls & 255}` };
  return service.call(path, { ...call, key, headers: { ...call.headers, ...from } });
}

function isAllowed(access: RouteAccess, tenant: Tenant, role: Role): boolean {
  if (access === 'open') return true;
  return access.roles.includes(role) && (access.scope === 'tenant' || tenant === 'default');
}

/** Nothing of the other tenant: neither its ids nor what its files hold. */
function expectNothingOf(other: Tenant, answer: Answer): void {
  const { execId, invocationId, keyId, project, heldId } = targetOf(other);
  for (const text of [execId, invocationId, keyId, heldId, `${project}-gone`, `secret of ${other}`]) {
    expect(answer.text).not.toContain(text);
  }
  if ('tenant' in answer.body) expect(answer.body['tenant']).not.toBe(other);
}

/** The same as for an id that nobody has, but for the id. */
function expectAsMissing(answer: Answer, missing: Answer, ids: readonly string[]): void {
  const without = (text: string) => ids.reduce((rest, id) => rest.replaceAll(id, 'ID'), text);
  expect([answer.status, without(answer.text)]).toEqual([404, without(missing.text)]);
  const names = ({ headers }: Answer) => [...headers.keys()].sort();
  expect(names(answer)).toEqual(names(missing));
}

const idsOf = ({ execId, invocationId, project, keyId, user, layered, heldId }: Target) => [
  execId,
  invocationId,
  project,
  keyId,
  user,
  layered,
  heldId,
];

/** Also of the v1 API, which has an envelope of its own. */
const codeOf = ({ body }: Answer) =>
  body.error?.code ?? (body['data'] as { readonly code?: string } | undefined)?.code;

const table = Object.entries(routeAccess) as [RouteName, RouteAccess][];
const otherThan = (tenant: Tenant): Tenant => (tenant === 'default' ? 'acme' : 'default');

describe('every route, with every role, of the own and of another tenant', () => {
  test.each(table)('%s', async (route, access) => {
    const ask = asked[route];
    const own = targetOf('default');
    const withoutKey = await send(ask(own), undefined);
    expect([route, withoutKey.status]).toEqual([route, access === 'open' ? 200 : 401]);

    for (const tenant of tenants) {
      const other = otherThan(tenant);
      for (const role of roles) {
        const name = `${route} as ${role} of ${tenant}`;
        const key = keyOf(tenant, role);
        const [mine, theirs] = [targetOf(tenant), targetOf(other)];
        const answer = await send(ask(mine), key);
        const foreign = await send(ask(theirs), key);
        if (!isAllowed(access, tenant, role)) {
          for (const refused of [answer, foreign]) {
            expect([name, refused.status]).toEqual([name, 403]);
            expect(['role_required', 'tenant_forbidden']).toContain(codeOf(refused));
          }
          continue;
        }
        expect([name, answer.status]).toEqual([name, ask(mine).status ?? 200]);
        if (access !== 'open' && access.scope === 'tenant') expectNothingOf(other, answer);
        // A project of the other's name is another project, without the other's files.
        if (route === 'POST /sandbox/execs') expect(foreign.body).toMatchObject({ tenant, stdout: '' });
        if (route === 'POST /run_code') expect(foreign.body).toMatchObject({ success: true, stdout: '' });
        if (route === 'POST /skills/{skill_id}/invoke') {
          expect(answer.text).toContain(`secret of ${tenant}`);
          expectNothingOf(other, foreign);
        }
        if (ask(theirs).everywhere) {
          expect([name, foreign.status]).toEqual([name, answer.status]);
          expectNothingOf(other, foreign);
          continue;
        }
        // Skills are every tenant's.
        if (!route.replace('{skill_id}', '').includes('{')) continue;
        // An administrator of the installation keeps the keys of all tenants.
        if (route === 'DELETE /keys/{key_id}' && tenant === 'default') {
          expect([name, foreign.status]).toEqual([name, 200]);
          continue;
        }
        const nobodys = {
          execId: randomUUID(),
          invocationId: randomUUID(),
          project: 'no-such-project',
          keyId: randomUUID(),
          user: 'no-such-user',
          layered: 'no-such-skill',
          heldId: randomUUID(),
          planHash: '0'.repeat(64),
        };
        const missing = await service.call(ask(nobodys).path, { ...ask(nobodys), key });
        expectAsMissing(foreign, missing, [...idsOf(theirs), ...idsOf(nobodys)]);
      }
    }
  });

  test('an invocation is recorded under the tenant and the key that asked for it', async () => {
    const { key, keyId } = await service.makeKey('acme', ['worker']);
    const invoked = await service.call(`${skill}/invoke`, { key, body: { inputs: { script: 'true' } } });
    const exec = await service.call(String(invoked.body['exec_url']), { key });
    expect(exec.body).toMatchObject({ tenant: 'acme', actor: keyId, skill_id: 'shell.run' });
  });

  test(`is ${table.length * (1 + roles.length * 4)} calls: ${table.length} routes, ${roles.length} roles, 2 tenants, own and foreign, and without a key`, () => {
    expect(table.length).toBeGreaterThanOrEqual(32);
    expect(calls).toBe(table.length * (1 + roles.length * 4));
  });
});
