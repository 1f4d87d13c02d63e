import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecAnswer } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { everything, gateOf, shell, type Gate } from './gated-service.js';

let service: KeyedService;
let gate: Gate;
beforeAll(async () => {
  service = await startKeyedService();
  gate = await gateOf(service);
});
afterAll(() => service.close());
beforeEach(async () => {
  expect((await gate.put({ approvals: everything })).status).toBe(200);
});

const download = (id: string, path: string, headers: Record<string, string> = {}, key = gate.keys.approver) =>
  gate.call(`/approvals/${id}/inputs/${path}`, { key, headers });
const codeAndStatus = async (answer: ReturnType<typeof download>) => {
  const { status, body } = await answer;
  return [status, body.error?.code];
};
const longer = (what: string) => `# ${what}\n`.repeat(2000);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

describe('all that an input holds', () => {
  test('is there for the approver, to be saved and never shown, as what the plan is bound to', async () => {
    const content = `${longer('harmless')}<script>alert(1)</script>`;
    const { exec_id: id } = await gate.hold('true', {
      project_id: 'whole',
      inputs: [
        { path: 'a folder/ä.html', content },
        { path: 'empty', content: '' },
        { path: 'password', content: 'canary', secret: true },
      ],
    });
    const [shown] = (await gate.see(id)).plan.inputs;
    expect(shown).toMatchObject({ sha256: sha256(content), preview_complete: false });
    const path = `a%20folder/${encodeURIComponent('ä')}.html`;
    const answer = await download(id, path);
    expect([answer.status, answer.text]).toEqual([200, content]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringMatching(/^attachment; /),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
      etag: `"${sha256(content)}"`,
    });
    const part = await download(id, path, { range: 'bytes=2-9' });
    expect([part.status, part.text]).toEqual([206, 'harmless']);
    expect((await download(id, 'empty')).text).toBe('');

    for (const [missing, expected] of [
      ['password', [404, 'input_not_found']],
      ['other', [404, 'input_not_found']],
      ['%FF', [404, 'input_not_found']],
      ['', [400, 'invalid_path']],
      ['a%20folder/..%2Fempty', [400, 'invalid_path']],
    ] as const) {
      expect([missing, await codeAndStatus(download(id, missing))]).toEqual([missing, expected]);
    }
    const { key } = await service.makeKey('acme', ['approver']);
    expect(await codeAndStatus(download(id, path, {}, key))).toEqual([404, 'approval_not_found']);
    expect(await codeAndStatus(download(id, path, {}, gate.keys.worker))).toEqual([403, 'role_required']);

    await gate.decide(id, { decision: 'deny' });
    while ((await download(id, path)).status === 200) await sleep(20);
    expect(await codeAndStatus(download(id, path))).toEqual([410, 'artifact_gone']);
  });

  test('also of a file that was too large to hold, before it runs and after', async () => {
    const content = longer('large').repeat(100);
    const form = new FormData();
    form.set(
      'request',
      JSON.stringify({ project_id: 'large', exec: shell('wc -c < /workspace/inputs/large') }),
    );
    form.append('inputs/large', new Blob([content]), 'large');
    const response = await fetch(`${gate.url}/sandbox/execs`, {
      method: 'POST',
      body: form,
      headers: { authorization: `Bearer ${gate.keys.worker}` },
    });
    const { exec_id: id } = (await response.json()) as ExecAnswer;
    expect((await download(id, 'large')).text === content).toBe(true);
    await gate.decide(id, { decision: 'approve' });
    expect((await gate.end(id)).stdout).toBe(`${content.length}\n`);
    expect((await download(id, 'large')).text === content).toBe(true);
  });

  test('is what was shown, whatever lies in its place by now', async () => {
    const [before, after] = [longer('before'), longer('after')];
    const bring = async (content: string) => {
      await gate.put({});
      await service.run(gate.keys.worker, 'replaced', 'true', { inputs: [{ path: 'x.sh', content }] });
      await gate.put({ approvals: everything });
    };
    await bring(before);
    const { exec_id: id } = await gate.hold('bash /workspace/inputs/x.sh', { project_id: 'replaced' });
    await bring(after);
    expect((await download(id, 'x.sh')).text).toBe(before);
    const now = await gate.hold('bash /workspace/inputs/x.sh', { project_id: 'replaced' });
    expect((await download(now.exec_id, 'x.sh')).text).toBe(after);
  });

  test('of a file that an operator put there is read where it lies, if it is still the same', async () => {
    await gate.put({});
    await service.run(gate.keys.worker, 'placed', 'true', { inputs: [{ path: 'any', content: 'x' }] });
    const file = join(service.dataDir, 'workspace/projects/placed/inputs/by-hand.sh');
    await writeFile(file, longer('by hand'));
    await gate.put({ approvals: everything });
    const { exec_id: id } = await gate.hold('true', { project_id: 'placed' });
    expect((await download(id, 'by-hand.sh')).text).toBe(longer('by hand'));
    await writeFile(file, longer('by HAND'));
    expect(await codeAndStatus(download(id, 'by-hand.sh'))).toEqual([410, 'artifact_gone']);
  });
});

describe('what cannot be seen', () => {
  const work =
    'What lies in /workspace/work: others may change it until this runs, and nobody sees what of it is run or loaded.';
  const withStdin = async (stdin: string, more: object = {}) => {
    const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'sh'], stdin, ...more };
    const { exec_id: id } = await gate.hold('', { exec });
    return (await gate.see(id)).plan;
  };

  test('is told: that stdin may be code, with its length and a hash that tells nothing else', async () => {
    const stdin = 'echo from stdin';
    const plan = await withStdin(stdin);
    expect(plan).toMatchObject({
      stdin_bytes: stdin.length,
      stdin_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      unseen: ['What is sent on stdin (15 bytes): if it is run as code, nobody sees that code.', work],
      sandbox_type: 'docker',
      user_id: null,
      agent_id: null,
      skill_version: null,
      skill_source: null,
    });
    expect(plan.stdin_hash).not.toBe(sha256(stdin));
    const hashes = [await withStdin(stdin), await withStdin('other')].map(({ stdin_hash }) => stdin_hash);
    expect(hashes).toEqual([plan.stdin_hash, expect.not.stringContaining(String(plan.stdin_hash))]);
    const led = await withStdin('', { env: { PATH: '/workspace/work', TOKEN: 'x' } });
    expect([led.stdin_hash, led.unseen]).toEqual([
      null,
      ['What PATH says, which may decide what runs.', work],
    ]);
  });

  test('is told: that what lies in work may change until it runs, unless it is of this exec alone', async () => {
    const script = (text: string) =>
      fetch(`${gate.url}/projects/changing/files/work/file?path=x.py`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${gate.keys.worker}` },
        body: text,
      });
    await gate.put({});
    await service.run(gate.keys.worker, 'changing', 'true');
    await gate.put({ approvals: everything });
    expect((await script('print("harmless")\n')).status).toBe(200);
    const { exec_id: id } = await gate.hold('python /workspace/work/x.py', { project_id: 'changing' });
    expect((await gate.see(id)).plan.unseen).toEqual([work]);
    expect((await script('print("exchanged")\n')).status).toBe(200);
    await gate.decide(id, { decision: 'approve' });
    expect(await gate.end(id)).toMatchObject({ status: 'succeeded', stdout: 'exchanged\n' });

    const body = { language: 'python', code: 'import json' };
    const alone = await gate.call('/run_code', { key: gate.keys.worker, body });
    expect((await gate.see(String(alone.body['exec_id']))).plan.unseen).toEqual([]);
  });

  test('code on stdin that is too large to be looked at is held from any level on', async () => {
    await gate.put({ approvals: { from_level: 'CRITICAL' } });
    const exec = { kind: 'shell', command: 'bash', args: ['-lc', 'sh'], stdin: 'true\n'.repeat(250_000) };
    const { exec_id: id } = await gate.hold('', { exec });
    expect((await gate.see(id)).needed_because).toBe(
      'It could not be looked at to its end, and Settings ask from CRITICAL on.',
    );
  });
});

test('the event of the request says who asked and from where', async () => {
  const { exec_id: id } = await gate.hold('true');
  const query = '/audit/events?type=approval_requested&limit=1';
  const { body } = await gate.call(query, { key: gate.keys.auditor });
  expect(body['events']).toEqual([
    expect.objectContaining({
      subject: id,
      actor: gate.workerId,
      address: expect.stringMatching(/127\.0\.0\.1$/),
    }),
  ]);
});
