/* eslint-disable @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access, @typescript-eslint/no-unsafe-return -- Each call answers in its own form; tests say what they expect of it. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { formWith, skillZip, v1CallsTo, type V1Call, type V1Request } from './v1-calls.js';

const skill = {
  'SKILL.md': '---\nname: Weather\ndescription: Tells it\n---\n',
  'main.py': 'one\ntwo\nthree\n',
};
let now = new Date();
let service: RunningService;
let call: V1Call;
beforeAll(async () => {
  service = await startRunningService({}, undefined, { now: () => now });
  call = v1CallsTo(service.url);
});
afterAll(() => service.close());

const send = (method: string, path: string, more: V1Request = {}) => call(path, { method, ...more });
const put = (path: string, body: string, headers = {}) => send('PUT', path, { body, headers });
const upload = (agent: string, scope: string, files: Readonly<Record<string, string>> = skill, name = 'w') =>
  send('POST', `/v1/skills/author/${agent}/upload?scope=${scope}`, { body: formWith(skillZip(name, files)) });
const of = (user: string, agent: string) => `/v1/skills/${user}/${agent}/w`;
const status = async (url: string) => (await call(`${url}/status`)).data.status as string;

test('an edit of a baseline’s file is the user’s own, and others see nothing of it', async () => {
  await upload('cow', 'baseline');
  const [mine, theirs] = [of('u1', 'cow'), of('u2', 'cow')];
  expect(await status(mine)).toBe('UNCHANGED');
  const edited = await put(`${mine}/edit?path=main.py&start=2&end=2`, 'TWO');
  expect(edited.body).toMatchObject({
    status: 'success',
    data: 'Skill file updated successfully.',
    file: { path: 'main.py', created: false },
  });
  expect((await call(`${mine}/content?path=main.py`)).data.content).toBe('one\nTWO\nthree\n');
  expect((await call(`${theirs}/content?path=main.py`)).data.content).toBe(skill['main.py']);
  expect([await status(mine), await status(theirs)]).toEqual(['MODIFIED', 'UNCHANGED']);
  expect((await call('/v1/skills/u1/cow/list')).data).toEqual([
    expect.objectContaining({ id: 'w', name: 'Weather', description: 'Tells it', layer: 'overlay' }),
  ]);
  const diff = (await call(`${mine}/diff`)).data;
  expect(diff.files).toEqual([expect.objectContaining({ path: 'main.py', change: 'changed' })]);
  expect(diff.files[0].patch).toContain('-two\n+TWO\n');
});

test('bytes go in and come out as they are, in parts too', async () => {
  await upload('bytes', 'baseline');
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, n) => n));
  const url = `${of('u', 'bytes')}/file?path=bin/all`;
  expect((await send('PUT', `${url}&executable=true`, { body: bytes })).data).toMatchObject({ bytes: 256 });
  const whole = await fetch(`${service.url}${url}`);
  expect(Buffer.from(await whole.arrayBuffer())).toEqual(bytes);
  expect(whole.headers.get('content-disposition')).toContain('attachment');
  const part = await fetch(`${service.url}${url}`, { headers: { range: 'bytes=1-2' } });
  expect([part.status, Buffer.from(await part.arrayBuffer())]).toEqual([206, bytes.subarray(1, 3)]);
  const etag = whole.headers.get('etag') ?? '';
  expect((await fetch(`${service.url}${url}`, { headers: { 'if-none-match': etag } })).status).toBe(304);
  expect((await call(`${of('u', 'bytes')}/stat?path=bin/all`)).data).toMatchObject({ executable: true });
  expect((await call(`${of('u', 'bytes')}/content?path=bin/all`)).code).toBe(415);
});

test('files are moved, searched and deleted, and a skill with them', async () => {
  await upload('ops', 'baseline');
  const url = of('u', 'ops');
  expect((await send('POST', `${url}/move?from=main.py&to=lib/main.py`)).code).toBe(200);
  expect((await call(`${url}/files`)).data).toEqual(['SKILL.md', 'lib/main.py']);
  expect((await call(`${url}/search?text=TWO&ignore_case=true`)).data.matches).toEqual([
    { path: 'lib/main.py', line: 2, text: 'two' },
  ]);
  expect((await send('POST', `${url}/move?from=lib&to=SKILL.md`)).data.code).toBe('file_in_the_way');
  expect((await put(`${url}/edit?path=lib/SKILL.md`, 'x')).data.code).toBe('skill_file_protected');
  expect((await send('DELETE', `${url}/file?path=lib`)).code).toBe(200);
  expect((await call(`${url}/files`)).data).toEqual(['SKILL.md']);
  expect((await send('DELETE', url)).code).toBe(200);
  expect((await call(`${url}/files`)).code).toBe(404);
  const [item] = (await call('/v1/skills/u/ops/trash')).data;
  expect(item).toMatchObject({ kind: 'skill', skill_id: 'w', reason: 'deleted' });
  expect((await send('POST', `/v1/skills/u/ops/trash/${item.id}/restore`)).code).toBe(200);
  expect((await call(`${url}/files`)).data).toEqual(['SKILL.md']);
});

test('a skill whose name is a call’s can be had and deleted', async () => {
  await put('/v1/skills/u/odd/list/edit?path=SKILL.md', '# Odd');
  expect((await call('/v1/skills/u/odd/list')).data).toMatchObject([{ id: 'list', name: 'Odd' }]);
  expect((await send('DELETE', '/v1/skills/u/odd/list')).code).toBe(200);
  expect((await call('/v1/skills/u/odd/list')).data).toEqual([]);
  expect((await send('PUT', '/v1/skills/u/odd/list')).code).toBe(405);
});

test('baselines move on: out of sync, sync with conflicts told, 409 unless forced, versions and back', async () => {
  await upload('base', 'baseline');
  const [author, user] = [of('author', 'base'), of('u', 'base')];
  await put(`${user}/edit?path=main.py`, 'mine\n');
  await put(`${author}/edit?path=main.py`, 'theirs\n');
  await put(`${author}/edit?path=new.py`, 'new\n');
  const first = (await send('POST', `${author}/baseline`)).data;
  expect(first.version).not.toBe(first.previous);
  expect(await status(user)).toBe('OUT_OF_SYNC');
  const early = await send('POST', `${user}/baseline`);
  expect([early.code, early.data.code]).toEqual([409, 'baseline_moved']);
  const synced = (await send('POST', `${user}/sync`)).data;
  expect(synced.conflicts).toEqual([expect.objectContaining({ path: 'main.py', kind: 'changed' })]);
  expect((await call(`${user}/content?path=main.py`)).data.content).toBe('mine\n');
  expect((await call(`${user}/content?path=new.py`)).data.content).toBe('new\n');
  expect((await send('POST', `${user}/baseline`)).code).toBe(200);
  const versions = (await call(`${user}/versions`)).data as { version: string; current: boolean }[];
  expect(versions.filter(({ current }) => current)).toHaveLength(1);
  expect(versions).toHaveLength(3);
  const { body: page } = await call(`${user}/versions?limit=2`);
  expect(page).toMatchObject({ data: versions.slice(0, 2), next_cursor: expect.any(String) });
  const next = encodeURIComponent(String(page['next_cursor']));
  const { body: rest } = await call(`${user}/versions?limit=2&cursor=${next}`);
  expect(rest).toEqual({ status: 'success', data: versions.slice(2), next_cursor: null });
  expect((await call(`${user}/versions?cursor=x`)).code).toBe(400);
  expect((await send('POST', `${user}/versions/${first.previous}/restore`)).code).toBe(200);
  await send('POST', `${user}/sync?keep=theirs`);
  expect((await call(`${user}/content?path=main.py`)).data.content).toBe(skill['main.py']);
  expect((await send('DELETE', `${author}/baseline`)).code).toBe(200);
  expect((await call(`/v1/skills/newcomer/base/list`)).data).toEqual([]);
});

test('the registry tells what the agent has and what the user has', async () => {
  const rows = async (user: string) =>
    (
      (await call(`/v1/skills/${user}/reg/registry`)).data as { skill_id: string; user_id: string | null }[]
    ).map(({ skill_id: id, user_id: by }) => `${id} of ${by ?? 'all'}`);
  await upload('reg', 'baseline');
  await upload('reg', 'overlay', { 'README.md': '# Own' }, 'own');
  expect(await rows('author')).toEqual(['own of author', 'w of all']);
  await put(`${of('u', 'reg')}/edit?path=main.py`, 'mine');
  expect(await rows('u')).toEqual(['w of all', 'w of u']);
  await put(`${of('u', 'reg')}/edit?path=main.py`, skill['main.py']);
  expect(await rows('u')).toEqual(['w of all']);
  await put(`${of('u', 'reg')}/edit?path=main.py`, 'mine again');
  expect(await rows('u')).toEqual(['w of all', 'w of u']);
  await send('POST', `${of('u', 'reg')}/sync?keep=theirs`);
  expect(await rows('u')).toEqual(['w of all']);
  await send('DELETE', `${of('author', 'reg')}/baseline`);
  expect(await rows('u')).toEqual([]);
});

test('the global pack stands before any skill of its name, for every tenant, and is only read', async () => {
  const pack = join(service.dataDir, 'workspace/product/skill-creator');
  await mkdir(pack);
  await writeFile(join(pack, 'SKILL.md'), '# Creator');
  const url = '/v1/skills/u/pack/skill-creator';
  expect((await call('/v1/skills/u/pack/list')).data).toMatchObject([
    { id: 'skill-creator', name: 'Creator', layer: 'global' },
  ]);
  expect((await call(`${url}/content?path=SKILL.md`)).data.content).toBe('# Creator');
  expect((await put(`${url}/edit?path=SKILL.md`, 'x')).data.code).toBe('skill_read_only');
});

test('idle users are cleaned away when a server looks, and have theirs back from the trash', async () => {
  const at = '/v1/skills/idle/cleanup';
  await upload('cleanup', 'baseline');
  await put(`${of('idle', 'cleanup')}/edit?path=main.py`, 'mine');
  await put('/v1/sandbox/idle/cleanup/edit?path=f', 'mine too');
  await service.stop();
  now = new Date(now.getTime() + 25 * 3_600_000);
  service = await startRunningService({}, service.dataDir, { now: () => now });
  call = v1CallsTo(service.url);
  let items: { id: string; kind: string }[] = [];
  while (items.length < 2) items = (await call(`${at}/trash`)).data;
  expect(items.map(({ kind }) => kind).sort()).toEqual(['sandbox', 'skill']);
  expect(await status(of('idle', 'cleanup'))).toBe('UNCHANGED');
  for (const { id } of items) expect((await send('POST', `${at}/trash/${id}/restore`)).code).toBe(200);
  expect((await call(`${of('idle', 'cleanup')}/content?path=main.py`)).data.content).toBe('mine');
  expect((await call('/v1/sandbox/idle/cleanup/content?path=f')).data.content).toBe('mine too');
});

test('inputs of a project that are secret are told to nobody, and what execs left is only read', async () => {
  await service.shell('echo made > made; echo left > /workspace/artifacts/left', {
    inputs: [
      { path: 'open', content: 'open' },
      { path: 'secret', content: 'canary', secret: true },
    ],
  });
  const [inputs, work, left] = ['inputs', 'work', 'artifacts'].map((area) => `/projects/p/files/${area}`);
  expect((await call(`${work}/content?path=made`)).body).toEqual({ content: 'made\n' });
  for (const kind of ['content', 'file', 'stat']) {
    const refused = await call(`${inputs}/${kind}?path=secret`);
    expect([refused.code, refused.text.includes('canary')]).toEqual([403, false]);
  }
  const hash = createHash('sha256').update('canary').digest('hex');
  const headers = { 'if-match': '"x"' };
  const changes = [
    await send('DELETE', `${inputs}/file?path=secret`, { headers }),
    await send('POST', `${inputs}/move?from=secret&to=elsewhere`, { headers }),
    await put(`${inputs}/edit?path=secret&start=1`, 'x', headers),
  ];
  for (const refused of changes) expect([refused.code, refused.text.includes(hash)]).toEqual([403, false]);
  const whole = await put(`${inputs}/edit?path=secret`, 'x', headers);
  expect([whole.code, whole.text.includes(hash)]).toEqual([412, false]);
  expect((await call(`${inputs}/search?text=canary`)).body['matches']).toEqual([]);
  await put(`${inputs}/edit?path=open`, 'changed');
  await put(`${work}/edit?path=made`, 'by hand\n');
  const { stdout } = await service.shell('cat /workspace/inputs/open made; echo >> made');
  expect(stdout).toBe('changedby hand\n');
  const list = (await call(`${left}/list`)).body['files'] as { path: string }[];
  const path = list.find((file) => file.path.endsWith('/left'))?.path ?? '';
  expect((await call(`${left}/content?path=${path}`)).body).toEqual({ content: 'left\n' });
  expect((await put(`${left}/edit?path=${path}`, 'x')).code).toBe(405);
  expect((await put('/projects/none/files/work/edit?path=x', 'x')).code).toBe(404);
});

test('inputs of a project are not changed while an exec of it runs, which sees what it began with', async () => {
  const [inputs, work] = ['inputs', 'work'].map((area) => `/projects/held/files/${area}`);
  const waiting = 'touch begun; until [ -e go ]; do sleep 0.1; done; cat /workspace/inputs/f';
  const held = service.shell(waiting, { project_id: 'held', inputs: [{ path: 'f', content: 'old' }] });
  while ((await call(`${work}/stat?path=begun`)).code !== 200) await sleep(20);
  const changes = [
    await put(`${inputs}/edit?path=f`, 'new'),
    await send('PUT', `${inputs}/file?path=g`, { body: 'new' }),
    await send('POST', `${inputs}/move?from=f&to=g`),
    await send('DELETE', `${inputs}/file?path=f`),
  ];
  const inUse = { code: 'project_in_use', details: { execs: 1 } };
  for (const refused of changes) expect(refused).toMatchObject({ code: 409, body: { error: inUse } });
  await put(`${work}/edit?path=go`, 'now');
  expect((await held).stdout).toBe('old');
  expect((await put(`${inputs}/edit?path=f`, 'new')).code).toBe(200);
});

test('a file that is larger than allowed is refused, announced or not, and nothing of it is left', async () => {
  const small = await startRunningService({ SECBOX_MAX_UPLOAD_MB: '1' });
  try {
    const calls = v1CallsTo(small.url);
    const pieces = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (let n = 0; n < 32; n += 1) controller.enqueue(new Uint8Array(64 * 1024));
          controller.close();
        },
      });
    for (const area of ['/v1/sandbox/u/a', '/v1/skills/u/a/s']) {
      const announced = await calls(`${area}/file?path=f`, {
        method: 'PUT',
        body: new Uint8Array(2_000_000),
      });
      expect([announced.code, announced.data.code]).toEqual([413, 'file_too_large']);
      const init = { method: 'PUT', body: pieces(), duplex: 'half' } as RequestInit;
      const streamed = await fetch(`${small.url}${area}/file?path=f`, init);
      expect(streamed.status).toBe(413);
      expect((await calls(`${area}/stat?path=f`)).code).toBe(404);
    }
    const archive = formWith(new Uint8Array(2_000_000));
    const { code, data } = await calls('/v1/skills/u/a/upload', { method: 'POST', body: archive });
    expect([code, data.code]).toEqual([413, 'archive_too_large']);
  } finally {
    await small.close();
  }
});

test('a key for some users and agents is for no others, and a baseline takes an author', async () => {
  const keyed: KeyedService = await startKeyedService();
  try {
    const calls = v1CallsTo(keyed.url);
    const { key } = await keyed.makeKey(
      'default',
      ['worker'],
      '--user-pattern',
      'team-*',
      '--agent-pattern',
      'a1',
    );
    const author = (await keyed.makeKey('default', ['author'])).key;
    const answer = async (path: string, more: V1Request = {}) =>
      (await calls(path, { key, ...more })).data.code;
    expect((await calls('/v1/skills/team-1/a1/list', { key })).data).toEqual([]);
    for (const path of ['/v1/skills/other/a1/list', '/v1/skills/team-1/a2/list', '/v1/sandbox/x/a1/files']) {
      expect(await answer(path)).toBe('subject_forbidden');
    }
    const body = () => formWith(skillZip('w', skill));
    const baseline = '/v1/skills/team-1/a1/upload?scope=baseline';
    expect(await answer(baseline, { method: 'POST', body: body() })).toBe('role_required');
    const form = body();
    form.append('scope', 'baseline');
    expect(await answer('/v1/skills/team-1/a1/upload', { method: 'POST', body: form })).toBe('role_required');
    expect((await calls(baseline, { method: 'POST', body: body(), key: author })).code).toBe(200);
    expect(await answer('/v1/skills/team-1/a1/w/baseline', { method: 'POST' })).toBe('role_required');
    expect(await calls('/v1/skills/u/a/list')).toMatchObject({ code: 401, status: 'error' });
  } finally {
    await keyed.close();
  }
});
