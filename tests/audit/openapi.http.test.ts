import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { initialize } from '../mcp/initialize.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { fileExamples } from './file-examples.js';

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}
interface OperationObject {
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, object>> }>>;
}

let service: RunningService;
let document: Document;
let execId: string;
beforeAll(async () => {
  service = await startRunningService();
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document;
  const { exec_id: id } = await service.shell(
    'echo hi > /workspace/artifacts/a; ln -s a /workspace/artifacts/b',
    {
      inputs: [
        { path: 'a', content: 'y' },
        { path: 's', content: 'z', secret: true },
      ],
    },
  );
  execId = id;
  for (const { path, init } of fileExamples.before) await fetch(`${service.url}${path}`, init);
});
afterAll(() => service.close());

/** Whether an answer is what the document says of its path, method and status. */
async function expectAsDocumented(
  method: string,
  path: string,
  init: RequestInit = {},
  query = '',
): Promise<void> {
  const url =
    `${service.url}${path.replace('{exec_id}', execId).replace('{path}', 'a').replace('{key_id}', execId).replace('{skill_id}', 'json.query')}${query}`
      .replace('{userId}', 'u')
      .replace('{agentId}', 'a')
      .replace('{skillId}', 's')
      .replace('{trashId}', execId)
      .replace('{approval_id}', execId)
      .replace('{version}', '0'.repeat(64))
      .replace('{project_id}', 'p')
      .replace('{area}', 'inputs');
  const response = await fetch(url, { ...init, method: method.toUpperCase() });
  const content = document.paths[path]?.[method]?.responses?.[response.status]?.content;
  if (!content) throw new Error(`${method} ${path} does not document ${response.status}`);
  const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
  expect(Object.keys(content)).toContain(content['*/*'] ? '*/*' : type);
  if (type !== 'application/json') {
    await response.body?.cancel();
    return;
  }
  const ajv = new Ajv2020({ strict: true, strictRequired: false, formats: { 'date-time': true } });
  ajv.addVocabulary(['components']);
  const { schema } = content[type] as { schema: object };
  const validate = ajv.compile({ ...schema, components: document.components });
  expect([validate(await response.json()), validate.errors]).toEqual([true, null]);
}

const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const shell = { kind: 'shell', command: 'bash', args: ['-lc', 'exit 1'] };

const calls = (
  [
    ['post', '/sandbox/execs', json({ project_id: 'p', exec: shell })],
    ['post', '/sandbox/execs', json({ project_id: 'p', exec: shell }, { prefer: 'respond-async' })],
    ['post', '/sandbox/execs', json({ project_id: 'p' })],
    ['post', '/sandbox/execs', json({ project_id: 'p', exec: shell, policy_overrides: { pids: 99_999 } })],
    ['get', '/sandbox/execs'],
    ['get', '/sandbox/execs', {}, '?limit=x'],
    ['get', '/sandbox/execs/export', {}, '?format=csv'],
    ['get', '/sandbox/execs/export', {}, '?format=jsonl'],
    ['get', '/sandbox/execs/stats'],
    ['get', '/sandbox/execs/{exec_id}'],
    ['post', '/sandbox/execs/{exec_id}/cancel'],
    ['get', '/sandbox/execs/{exec_id}/events'],
    ['get', '/sandbox/execs/{exec_id}/artifacts'],
    ['get', '/sandbox/execs/{exec_id}/artifacts/{path}'],
    ['get', '/sandbox/execs/{exec_id}/artifacts/{path}', { headers: { range: 'bytes=9-' } }],
    ['get', '/sandbox/execs/{exec_id}/artifacts.zip'],
    ['get', '/sandbox/execs/{exec_id}/inputs'],
    ['get', '/sandbox/execs/{exec_id}/inputs/{path}'],
    ['get', '/sandbox/execs/{exec_id}/stdout'],
    ['get', '/sandbox/execs/{exec_id}/stderr'],
    ['post', '/run_code', json({ code: 'import os; print(1)', language: 'python', timeout: 20 })],
    ['post', '/run_code', json({ code: 'true', language: 'bash' }, { prefer: 'respond-async' })],
    ['post', '/run_code', json({ code: 'x', language: 'cobol' })],
    ['get', '/run_code/{exec_id}'],
    ['get', '/approvals'],
    ['get', '/approvals', {}, '?state=lost'],
    ['get', '/approvals/live'],
    ['get', '/approvals/{approval_id}'],
    ['get', '/approvals/{approval_id}/inputs/{path}'],
    ['post', '/approvals/{approval_id}/decision', json({ decision: 'approve' })],
    [
      'post',
      '/approvals/{approval_id}/decision',
      json({ decision: 'deny', plan_hash: '0'.repeat(64), reason: 'because' }),
    ],
    ['get', '/skills'],
    ['get', '/skills', {}, '?valid=no'],
    ['get', '/skills/{skill_id}'],
    ['get', '/skills/{skill_id}/files'],
    ['post', '/skills/{skill_id}/invoke', json({ inputs: { document: 1, filter: '.' } })],
    ['post', '/skills/{skill_id}/invoke', json({}, { prefer: 'respond-async' })],
    [
      'post',
      '/skills/{skill_id}/invoke',
      json({ inputs: { document: 1, filter: '.' } }, { prefer: 'wait=0' }),
    ],
    ['get', '/skills/{skill_id}/execs/{exec_id}'],
    ['post', '/mcp', json(initialize, { accept: 'application/json, text/event-stream' })],
    ['post', '/mcp', json({ jsonrpc: '2.0', id: 1, method: 'ping' })],
    ['get', '/mcp'],
    ['delete', '/mcp', { headers: { 'mcp-session-id': 'none' } }],
    ['get', '/projects'],
    ['post', '/retention/run'],
    ['get', '/settings'],
    ['put', '/settings', json({ policy: { values: { pids: 100 } } }, { 'if-match': '"0"' })],
    ['put', '/settings', json({})],
    ['get', '/settings/history'],
    ['post', '/keys', json({ roles: ['worker'], label: 'x', user_patterns: ['a*'] })],
    ['post', '/keys', json({ roles: [] })],
    ['get', '/keys'],
    ['delete', '/keys/{key_id}'],
    ['get', '/audit/events'],
    ['get', '/audit/events', {}, '?scope=installation&limit=1'],
    ['get', '/metrics'],
    ...fileExamples.calls,
    ['delete', '/projects/{project_id}'],
    ['get', '/healthz'],
    ['get', '/sandbox/health'],
  ] as [string, string, RequestInit?, string?][]
).map(([method, path, init = {}, query = '']) => ({
  method,
  path,
  init,
  query,
}));

test.each(calls)('$method $path$query answers as documented', ({ method, path, init, query }) =>
  expectAsDocumented(method, path, init, query),
);

test('every documented operation is among these', () => {
  const documented = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((method) => method !== 'parameters')
      .map((method) => `${method} ${path}`),
  );
  expect([...new Set(calls.map(({ method, path }) => `${method} ${path}`))].sort()).toEqual(
    documented.sort(),
  );
});

test('the page for people fetches nothing from elsewhere', async () => {
  const response = await fetch(`${service.url}/docs`);
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
  const page = await response.text();
  const links = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link = '']) => link);
  expect(links).toHaveLength(3);
  for (const link of links) {
    expect(link).toMatch(/^\/docs\//);
    const file = await fetch(`${service.url}${link}`);
    expect([link, file.status]).toEqual([link, 200]);
    expect((await file.text()).length).toBeGreaterThan(50);
  }
  for (const other of ['package.json', 'index.html', '..%2fpackage.json', 'swagger-ui-bundle.js.map']) {
    expect((await fetch(`${service.url}/docs/${other}`)).status).toBe(404);
  }
});
