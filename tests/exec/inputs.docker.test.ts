import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { access, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileAppears } from './file-appears.js';
import { startRunningService, type RunningService } from './running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

const input = (path: string, content: string) => ({ path, content });
const sha256 = (content: string | Buffer) => createHash('sha256').update(content).digest('hex');
const show = 'cat /workspace/inputs/*';
const work = (projectId: string, file: string) =>
  join(service.dataDir, 'workspace/projects', projectId, 'work', file);

describe('inputs', () => {
  test('stay with the project, and are replaced by name', async () => {
    const project = { project_id: 'stay' };
    await service.shell('true', { ...project, inputs: [input('a', 'one\n'), input('b', 'two\n')] });
    expect((await service.shell(show, project)).stdout).toBe('one\ntwo\n');
    expect((await service.shell(show, { ...project, inputs: [input('a', 'new\n')] })).stdout).toBe(
      'new\ntwo\n',
    );
  });

  test('of any bytes arrive as they are', async () => {
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
    const answer = await service.python(
      'import hashlib; print(hashlib.sha256(open("/workspace/inputs/deep/er/b.bin", "rb").read()).hexdigest())',
      { project_id: 'bytes', inputs: [{ path: 'deep/er/b.bin', content_base64: bytes.toString('base64') }] },
    );
    expect(answer.stdout.trim()).toBe(sha256(bytes));
  });

  test('do not change under a running exec: who would change one waits, who adds or repeats one does not', async () => {
    const project = { project_id: 'still' };
    const first = service.shell(
      'cat /workspace/inputs/a; touch begun; while [ ! -e go ]; do sleep 0.02; done; cat /workspace/inputs/a',
      { ...project, inputs: [input('a', 'old\n')] },
    );
    await fileAppears(work('still', 'begun'));
    const changing = service.shell('touch changed; cat /workspace/inputs/a', {
      ...project,
      inputs: [input('a', 'new\n')],
    });

    // Another project is not concerned, and within this one the change waits for `go`.
    expect((await service.shell(show, { project_id: 'other', inputs: [input('a', 'x\n')] })).stdout).toBe(
      'x\n',
    );
    await expect(access(work('still', 'changed'))).rejects.toThrow();
    await writeFile(work('still', 'go'), '');
    expect((await first).stdout).toBe('old\nold\n');
    expect((await changing).stdout).toBe('new\n');
  });

  test('adding and repeating ones do not wait', async () => {
    const project = { project_id: 'add' };
    const first = service.shell('touch begun; while [ ! -e go ]; do sleep 0.02; done; echo done', {
      ...project,
      inputs: [input('a', 'same\n')],
    });
    await fileAppears(work('add', 'begun'));
    const second = await service.shell(`${show}; touch go`, {
      ...project,
      inputs: [input('a', 'same\n'), input('b', 'added\n')],
    });
    expect(second.stdout).toBe('same\nadded\n');
    expect((await first).stdout).toBe('done\n');
  });

  test('are all accounted for: also those of earlier execs, and those added while it ran', async () => {
    const project = { project_id: 'account' };
    const earlier = await service.shell('true', {
      ...project,
      inputs: [input('old', 'old'), input('replaced', 'before')],
    });
    const first = service.shell('touch begun; while [ ! -e go ]; do sleep 0.02; done', {
      ...project,
      inputs: [input('replaced', 'after')],
    });
    await fileAppears(work('account', 'begun'));
    await service.shell('touch go', { ...project, inputs: [input('added', 'added')] });
    const { artifacts_dir } = await first;
    const meta = JSON.parse(await readFile(join(artifacts_dir, 'meta.json'), 'utf8')) as { inputs: unknown };
    const told = (path: string, content: string) => ({ path, size: content.length, sha256: sha256(content) });
    expect(meta.inputs).toEqual([told('added', 'added'), told('old', 'old'), told('replaced', 'after')]);
    // What was replaced can still be looked at.
    const { exec_id: execId } = earlier;
    const fetched = (id: string, path: string) => fetch(`${service.url}/sandbox/execs/${id}/inputs/${path}`);
    expect(await (await fetched(execId, 'replaced')).text()).toBe('before');
    expect(await (await fetched((await first).exec_id, 'replaced')).text()).toBe('after');
    expect((await fetched(execId, 'replaced')).headers.get('content-disposition')).toMatch(/^attachment/);
  });

  test('cannot be changed from inside, nor what is kept of them (case 44)', async () => {
    const { stdout } = await service.shell(
      'cd /workspace/inputs; echo x > a; rm -f a; mv a b; ln a /workspace/work/a; chmod 777 a; cat a',
      { project_id: 'inside', inputs: [input('a', 'kept')] },
    );
    expect(stdout).toBe('kept');
    const hash = sha256('kept');
    const kept = join(service.dataDir, 'workspace/contents', hash.slice(0, 2), hash);
    expect(await readFile(kept, 'utf8')).toBe('kept');
  });

  test('that were secret, or that it could not see, are not handed out', async () => {
    const { exec_id: execId } = await service.shell('true', {
      project_id: 'hidden',
      inputs: [{ ...input('key', 'canary'), secret: true }],
    });
    for (const [path, status] of [
      ['key', 404],
      ['other', 404],
      ['..%2fx', 400],
      ['%ff', 404],
    ] as const) {
      const response = await fetch(`${service.url}/sandbox/execs/${execId}/inputs/${path}`);
      expect([path, response.status]).toEqual([path, status]);
      expect(await response.text()).not.toContain('canary');
    }
  });

  test('a file where there is a folder, or the other way, is refused and recorded', async () => {
    await service.shell('true', { project_id: 'kinds', inputs: [input('dir/file', 'x')] });
    await expect(service.shell('true', { project_id: 'kinds', inputs: [input('dir', 'x')] })).rejects.toThrow(
      'invalid_path',
    );
    await expect(
      service.shell('true', { project_id: 'kinds', inputs: [input('dir/file/x', 'x')] }),
    ).rejects.toThrow('invalid_path');
  });
});
