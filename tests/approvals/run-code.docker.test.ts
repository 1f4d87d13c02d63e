import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { SecboxClient } from '@secbox/client';
import type { RunCodeAnswer } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { connect } from '../mcp/roads.js';
import { everything, gateOf, type Gate } from './gated-service.js';

let service: KeyedService;
let gate: Gate;
let client: SecboxClient;
beforeAll(async () => {
  service = await startKeyedService();
  gate = await gateOf(service);
  client = new SecboxClient({ url: service.url, key: gate.keys.worker });
});
afterAll(() => service.close());

const run = async (body: object, headers: Record<string, string> = {}) => {
  const answer = await gate.call('/run_code', { key: gate.keys.worker, body, headers });
  return { status: answer.status, ran: answer.body as unknown as RunCodeAnswer, error: answer.body.error };
};

describe('POST /run_code', () => {
  test('python: what it printed and left, how dangerous it looks, and on record as any exec', async () => {
    const code =
      'import os\nprint(6 * 7)\nopen("/workspace/artifacts/a.txt", "w").write("x")\nos.system("id")';
    const { status, ran } = await run({ code, language: 'python', timeout: 30 });
    expect(status).toBe(200);
    expect(ran).toMatchObject({
      success: true,
      status: 'succeeded',
      exit_code: 0,
      error: null,
      stderr: '',
      sandbox_type: 'docker',
      artifacts: [expect.objectContaining({ path: 'a.txt', size: 1 })],
    });
    expect(ran.stdout).toContain('42');
    expect(ran.risk.level).not.toBe('SAFE');
    expect(ran.risk.findings).toContainEqual(expect.objectContaining({ line: 4 }));
    const exec = await client.execs.get(ran.exec_id);
    expect(exec).toMatchObject({ kind: 'python', args: ['-c', code], actor: gate.workerId });
    expect(exec.policy_snapshot.values.timeout_ms).toBe(30_000);
    expect(await client.code.get(ran.exec_id)).toEqual(ran);
  });

  test('bash, with files of its project from one call to the next; without a project they are gone', async () => {
    const bash = (code: string, more: object = {}) => run({ code, language: 'bash', ...more });
    await bash('echo kept > /workspace/work/f', { project_id: 'files' });
    const { ran } = await bash('cat /workspace/work/f', { project_id: 'files' });
    expect(ran).toMatchObject({ success: true, stdout: 'kept\n', project_id: 'files' });
    expect(ran.risk).toMatchObject({ level: 'SAFE', complete: true });
    await bash('echo kept > /workspace/work/f');
    expect((await bash('ls /workspace/work')).ran.stdout).toBe('');
  });

  test('javascript: the image has no node, and the answer says so plainly', async () => {
    const { status, ran } = await run({ code: 'console.log(1 + 1)', language: 'javascript' });
    expect(status).toBe(200);
    expect(ran).toMatchObject({ success: false, status: 'failed', exit_code: 127, stdout: '' });
    expect(ran.error).toMatch(/^The image \S+ has no node: code in javascript cannot run in it\.$/);
  });

  test('what fails is a result: an exit code, a timeout, a syntax error', async () => {
    const failed = (await run({ code: 'exit 3', language: 'bash' })).ran;
    expect(failed).toMatchObject({ success: false, exit_code: 3, error: 'It exited with 3.' });
    const slow = (await run({ code: 'sleep 60', language: 'bash', timeout: 0.5 })).ran;
    expect(slow).toMatchObject({ success: false, status: 'timed_out' });
    const broken = (await run({ code: 'print(', language: 'python' })).ran;
    expect(broken).toMatchObject({ success: false, exit_code: 1 });
    expect(broken.stderr).toContain('SyntaxError');
    expect(broken.risk).toMatchObject({ complete: false });
  });

  test.each([
    ['nothing', {}, 400],
    ['no code', { code: '', language: 'python' }, 400],
    ['code that is no text', { code: 1, language: 'python' }, 400],
    ['another language', { code: 'x', language: 'cobol' }, 400],
    ['no time', { code: 'x', language: 'python', timeout: 0 }, 400],
    ['a time that is no number', { code: 'x', language: 'python', timeout: '30' }, 400],
    ['a path as a project', { code: 'x', language: 'python', project_id: '../x' }, 400],
    ['an unknown key', { code: 'x', language: 'python', env: {} }, 400],
    ['NUL', { code: 'x\0y', language: 'bash' }, 400],
    ['more bytes than an argument has', { code: 'ä'.repeat(100_000), language: 'bash' }, 400],
    ['more time than is allowed', { code: 'x', language: 'python', timeout: 4000 }, 403],
  ])('%s is refused', async (_, body, status) => {
    expect((await run(body)).status).toBe(status);
  });

  test('sent again under its key it is one run, also without a project', async () => {
    const body = { code: 'echo "$RANDOM$RANDOM"', language: 'bash' };
    const [first, second] = [
      await run(body, { 'idempotency-key': 'once' }),
      await run(body, { 'idempotency-key': 'once' }),
    ];
    expect([second.ran.exec_id, second.ran.stdout]).toEqual([first.ran.exec_id, first.ran.stdout]);
    expect((await run({ ...body, code: 'true' }, { 'idempotency-key': 'once' })).status).toBe(422);
  });

  test('an exec that is no run of code is not found here', async () => {
    const { exec_id: id } = await service.run(gate.keys.worker, 'p', 'true', {
      exec: { kind: 'shell', command: 'bash', args: ['-lc', 'true', 'more'] },
    });
    const answer = await gate.call(`/run_code/${id}`, { key: gate.keys.worker });
    expect([answer.status, answer.body.error?.code]).toEqual([404, 'exec_not_found']);
  });
});

describe('the client', () => {
  test('runs code, and waits for a human where one has to agree', async () => {
    expect(await client.code.run({ code: 'print("x")', language: 'python' })).toMatchObject({
      success: true,
      stdout: 'x\n',
    });
    await gate.put({ approvals: everything });
    try {
      const submitted = await client.code.submit({ code: 'echo agreed', language: 'bash' });
      expect(submitted).toMatchObject({ status: 'awaiting_approval', success: false, error: null });
      const running = client.code.run(
        { code: 'echo agreed', language: 'bash' },
        {
          onEvent: (event) => {
            if (event.type === 'state' && event.status === 'awaiting_approval') void approveAll();
          },
        },
      );
      expect(await running).toMatchObject({ success: true, stdout: 'agreed\n' });
    } finally {
      await gate.put({});
    }
  });

  async function approveAll(): Promise<void> {
    const { body } = await gate.call('/approvals?state=pending', { key: gate.keys.approver });
    for (const { exec_id } of body['approvals'] as { exec_id: string }[]) {
      await gate.decide(exec_id, { decision: 'approve' });
    }
  }
});

describe.each(['http', 'stdio'] as const)('the MCP tool over %s', (road) => {
  let mcp: Client;
  beforeAll(async () => {
    mcp = await connect(road, { url: service.url, key: gate.keys.worker });
  });
  afterAll(() => mcp.close());
  const call = async (inputs: Record<string, unknown>) =>
    (await mcp.callTool({ name: 'run_code', arguments: inputs })) as CallToolResult;

  test('run_code gives what was printed, and the whole answer as data', async () => {
    await mcp.listTools();
    const result = await call({ code: 'print(6 * 7)', language: 'python' });
    expect(result.isError).toBeUndefined();
    expect(result.content[0]).toEqual({ type: 'text', text: '42\n' });
    expect(result.structuredContent).toMatchObject({ success: true, stdout: '42\n', sandbox_type: 'docker' });
  });

  test('failures and bad inputs are results that a model can read', async () => {
    const failed = await call({ code: 'echo oh >&2; exit 2', language: 'bash' });
    expect(failed).toMatchObject({ isError: true });
    expect(failed.content[0]).toEqual({ type: 'text', text: 'It exited with 2.\n\nstderr:\noh\n' });
    const bad = await call({ code: 'x', language: 'cobol' });
    expect(bad).toMatchObject({ isError: true });
    expect(JSON.stringify(bad.content)).toContain('/language');
  });

  test('what waits for a human is told at once, and not to be sent again', async () => {
    await gate.put({ approvals: everything });
    try {
      const held = await call({ code: 'true', language: 'bash' });
      expect(held.isError).toBe(true);
      expect(held.structuredContent).toMatchObject({ status: 'awaiting_approval' });
      expect(JSON.stringify(held.content)).toContain('a human has to agree to it first');
    } finally {
      await gate.put({});
    }
  });
});
