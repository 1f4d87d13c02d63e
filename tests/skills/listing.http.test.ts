import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SkillDetail, SkillFileListing, SkillPage } from '@secbox/contracts';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { invoke } from './invoke.js';

const at = { skills: '' };
let service: RunningService;

beforeAll(async () => {
  at.skills = await mkdtemp(join(tmpdir(), 'skills-'));
  await cp(join(repositoryRoot, 'skills'), at.skills, { recursive: true });
  await mkdir(join(at.skills, 'bad.skill'));
  await writeFile(join(at.skills, 'bad.skill', 'manifest.json'), '{\n  "id": "bad.skill",\n}\n');
  service = await startRunningService({ SECBOX_SKILLS_DIR: at.skills });
});
afterAll(async () => {
  await service.close();
  await rm(at.skills, { recursive: true });
});

const get = async <T>(path: string) => (await (await fetch(`${service.url}${path}`)).json()) as T;

test('every skill is listed, in pages, by whether it is valid, and by words', async () => {
  const all = await get<SkillPage>('/skills');
  expect(all.skills.map(({ id, valid }) => [id, valid])).toContainEqual(['bad.skill', false]);
  expect(all.skills.length).toBeGreaterThanOrEqual(8);
  const first = await get<SkillPage>('/skills?limit=3');
  const rest = await get<SkillPage>(`/skills?limit=100&cursor=${first.next_cursor}`);
  expect([...first.skills, ...rest.skills]).toEqual(all.skills);
  expect(rest.next_cursor).toBeNull();
  expect((await get<SkillPage>('/skills?valid=false')).skills.map(({ id }) => id)).toEqual(['bad.skill']);
  expect((await get<SkillPage>('/skills?q=JQ')).skills.map(({ id }) => id)).toContain('json.query');
  for (const wrong of ['?limit=0', '?valid=maybe', '?sort=id', '?q=']) {
    expect((await fetch(`${service.url}/skills${wrong}`)).status).toBe(400);
  }
});

test('who knows the list is told that it is as it was, until a skill changes', async () => {
  const [url, manifest] = [`${service.url}/skills?limit=1`, join(at.skills, 'bad.skill', 'manifest.json')];
  const etag = (await fetch(url)).headers.get('etag') ?? '';
  const again = () => fetch(url, { headers: { 'if-none-match': etag } });
  expect(await again().then(async (answer) => [answer.status, await answer.text()])).toEqual([304, '']);
  await writeFile(manifest, '{\n  "id": "bad.skill",\n} \n');
  let changed = await again();
  while (changed.status === 304) changed = await again();
  expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false]);
});

test('a skill shows what it takes with each file spelt out, and its files with their hashes', async () => {
  const skill = await get<SkillDetail>('/skills/text.search');
  expect(skill).toMatchObject({ valid: true, problems: [] });
  expect(skill.readme).toContain('# text.search');
  expect(JSON.stringify(skill.interface)).toContain('content_base64');
  expect(JSON.stringify(skill.interface)).not.toContain('x-secbox');
  const { digest, files } = await get<SkillFileListing>(skill.files_url);
  expect(digest).toBe(skill.digest);
  expect(files.map(({ path, for_program: forProgram }) => [path, forProgram])).toEqual([
    ['README.md', false],
    ['manifest.json', false],
    ['search.py', true],
    ['tests/cases.json', false],
  ]);
});

test('one that is wrong says where, and is not run', async () => {
  const skill = await get<SkillDetail>('/skills/bad.skill');
  expect(skill).toMatchObject({ valid: false, name: null, interface: null });
  expect(skill.problems).toEqual([expect.objectContaining({ file: 'manifest.json', line: 3, column: 1 })]);
  const { status, body } = await invoke(service.url, 'bad.skill', {});
  expect([status, body]).toMatchObject([409, { error: { code: 'skill_invalid' } }]);
});

test.each(['none.such', '..%2f..%2fetc', '__proto__', 'constructor', '_schema', '%00'])(
  'there is no skill %s',
  async (id) => {
    for (const path of [`/skills/${id}`, `/skills/${id}/files`]) {
      expect((await fetch(`${service.url}${path}`)).status).toBe(404);
    }
    expect((await invoke(service.url, id, {})).status).toBe(404);
  },
);

test('another site is not answered (case 60)', async () => {
  for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request(`${service.url}/skills`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
    expect(status).toBe(403);
  }
});

test('other methods and bodies are refused', async () => {
  expect((await fetch(`${service.url}/skills`, { method: 'POST' })).status).toBe(405);
  expect((await fetch(`${service.url}/skills/json.query/invoke`)).status).toBe(405);
  const plain = await fetch(`${service.url}/skills/json.query/invoke`, { method: 'POST', body: 'x' });
  expect(plain.status).toBe(415);
});
