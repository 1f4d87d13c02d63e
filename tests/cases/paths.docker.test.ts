import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { pathsIn } from '../lifecycle/data-folder.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());
afterEach(async () => {
  // Whatever was asked for, nothing was made for it, here or above.
  const made = (await pathsIn(service.dataDir)).filter((path) => !/^(secbox\.db|server\.lock)/.test(path));
  expect(made.filter((path) => !path.startsWith('workspace/product'))).toEqual([
    'secret.key',
    'workspace',
    'workspace/projects',
    'workspace/removed',
    'workspace/spool',
  ]);
});

const shell = { kind: 'shell', command: 'bash', args: ['-lc', 'true'] };
const python = (script: string) => ({ kind: 'python', command: 'python', args: [script] });

/** Every place of a request where a caller's string is, or becomes a part of, a path. */
const pathFields: Readonly<Record<string, (path: string) => unknown>> = {
  'inputs[0].path': (path) => ({ project_id: 'p', exec: shell, inputs: [{ path, content: '' }] }),
  'inputs[1].path': (path) => ({
    project_id: 'p',
    exec: shell,
    inputs: [
      { path: 'good', content: '' },
      { path, content: '', secret: true },
    ],
  }),
  'exec.cwd': (path) => ({ project_id: 'p', exec: { ...shell, cwd: `/workspace/work/${path}` } }),
  'exec.cwd, whole': (path) => ({ project_id: 'p', exec: { ...shell, cwd: path } }),
  'exec.args[0] of python': (path) => ({ project_id: 'p', exec: python(`/workspace/inputs/${path}`) }),
  'exec.args[0] of python, whole': (path) => ({ project_id: 'p', exec: python(path) }),
};

const idFields: Readonly<Record<string, (id: string) => unknown>> = {
  project_id: (id) => ({ project_id: id, exec: shell }),
  conversation_id: (id) => ({ conversation_id: id, exec: shell }),
  'task_ref.conversation_id': (id) => ({ task_ref: { conversation_id: id }, exec: shell }),
};

async function post(body: unknown): Promise<number> {
  const response = await fetch(`${service.url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  await response.arrayBuffer();
  return response.status;
}

/** Which of these were not answered with a 400. */
async function taken(
  fields: Readonly<Record<string, (text: string) => unknown>>,
  texts: readonly string[],
): Promise<string[]> {
  const open: string[] = [];
  for (const [field, bodyOf] of Object.entries(fields)) {
    for (const text of texts) {
      if ((await post(bodyOf(text))) !== 400) open.push(`${field} = ${JSON.stringify(text.slice(0, 60))}`);
    }
  }
  return open;
}

/** A request with exactly this path: other clients tidy it up first. */
function rawStatus(method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(service.url, { method, path }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', reject).end();
  });
}

const leavingPaths = [
  ...['../x', '..', 'a/../../x', 'a/..', 'a/../b', '.', './x', 'x/.', '....//../x'],
  ...['/x', '//x', '/etc/passwd', 'C:\\x', 'c:/x', '\\\\host\\share'],
  ...['%2e%2e%2fx', '%2E%2E%2Fx', '..%2fx', '%2e%2e/x', '..%5cx', 'a%2Fb'],
  ...['..\\x', 'a\\..\\..\\x', '\\x', 'a\\b'],
  ...['a//b', 'x/', ' /../x'],
];

test('case 1: ../, absolute, percent-encoded and backslash paths are a 400 in every path field', async () => {
  expect(await taken(pathFields, leavingPaths)).toEqual([]);
});

test('case 1: as a part of a URL they reach nothing either', async () => {
  const answers = new Map<string, number>();
  for (const id of ['..%2f..%2fetc%2fpasswd', '%2e%2e', '..%5c..', '%2fetc', '%00', '.%0a', '%zz']) {
    answers.set(`GET ${id}`, await rawStatus('GET', `/sandbox/execs/${id}`));
    answers.set(`events of ${id}`, await rawStatus('GET', `/sandbox/execs/${id}/events`));
    answers.set(`cancel ${id}`, await rawStatus('POST', `/sandbox/execs/${id}/cancel`));
  }
  expect([...answers].filter(([, status]) => status !== 400)).toEqual([]);
  // These are no ids at all, but other paths, at which there is nothing.
  for (const path of ['/sandbox/execs/../../etc/passwd', '//etc/passwd', '/..', '/sandbox/../../x']) {
    expect([400, 404]).toContain(await rawStatus('GET', path));
  }
});

test('case 2: NUL, newline, a component of 256 bytes, 5 kB and thousands of components are a 400', async () => {
  const control = ['a\0b', 'a\nb', 'a\rb', '\0', 'a\x1b[2Jb', 'a\x7fb', 'a\u0085b', 'a\n/../b'];
  const long = ['x'.repeat(256), 'é'.repeat(128), `a/${'x'.repeat(256)}/b`, 'x'.repeat(5000)];
  const many = [
    Array<string>(100).fill('x'.repeat(50)).join('/'),
    Array<string>(2000).fill('d').join('/'),
    Array<string>(33).fill('d').join('/'),
  ];
  expect(await taken(pathFields, [...control, ...long, ...many, 'half\ud800'])).toEqual([]);
});

test('case 7: ids that are no plain name are a 400, wherever a project is named', async () => {
  const ids = [
    ...['..', '.', 'a:b', 'a,b', '-v', '', 'x'.repeat(300), 'x'.repeat(129)],
    ...['a/b', 'a\\b', '../p', '/p', '%2e%2e', 'a b', ' a', 'a ', 'ü', 'a\0', 'a\n', '\na', '.hidden', '_a'],
    ...['$(id)', 'a;b', 'a\u202eb', '--privileged', '~'],
  ];
  expect(await taken(idFields, ids)).toEqual([]);
  // Ids of things that an exec does not have (yet): not taken for anything else.
  const others = ['user_id', 'agent_id', 'userId', 'agentId', 'skillId'].map(
    (field) => [field, (id: string) => ({ project_id: 'p', exec: shell, [field]: id })] as const,
  );
  expect(await taken(Object.fromEntries(others), ids)).toEqual([]);
});
