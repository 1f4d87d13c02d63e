import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { askByCurl } from '../run-curl.js';
import { examples, localFiles, weatherSkill } from './examples.js';
import { formWith, skillZip, v1CallsTo, type V1Call } from './v1-calls.js';

let service: RunningService;
let call: V1Call;
beforeAll(async () => {
  service = await startRunningService();
  call = v1CallsTo(service.url);
  const body = formWith(skillZip('weather_skill', weatherSkill));
  const uploaded = await call('/v1/skills/admin/agent001/upload?scope=baseline', { method: 'POST', body });
  expect(uploaded.code).toBe(200);
});
afterAll(() => service.close());

test('the examples are in the order of the document', () => {
  const sections = examples.map(({ section }) => section);
  expect(sections).toEqual([...sections].sort());
});

test.each(examples)('example $section', async ({ curl, answer, before = {}, skill = {}, stdout }) => {
  for (const [path, text] of Object.entries(before)) {
    const put = await call(`/v1/sandbox/1001/agent001/edit?path=${path}`, { method: 'PUT', body: text });
    expect(put.code).toBe(200);
  }
  for (const [path, text] of Object.entries(skill)) {
    const edit = `/v1/skills/1001/agent001/weather_skill/edit?path=${path}`;
    expect((await call(edit, { method: 'PUT', body: text })).code).toBe(200);
  }
  const line = curl.replace('http://localhost:8003', service.url);
  const { status, printed: told } = await askByCurl(line, { files: localFiles });
  expect(status).toBe(200);
  if (stdout) expect((told as { data: { stdout: string } }).data.stdout).toMatch(stdout);
  const root = `${service.dataDir}/workspace/product`;
  expectFields(told, JSON.parse(JSON.stringify(answer).replaceAll('/webIde/product', root)));
});

/** Every field of the document is there, and as it says; a list has the same members, in whichever order. */
function expectFields(told: unknown, wanted: unknown, name = ''): void {
  if (Array.isArray(wanted) && Array.isArray(told) && name !== 'content') {
    const byName = (list: unknown[]) => list.map(nameOf).sort();
    expect(byName(told)).toEqual(byName(wanted));
    for (const member of wanted)
      expectFields(
        told.find((each) => nameOf(each) === nameOf(member)),
        member,
      );
  } else if (typeof wanted === 'object' && wanted !== null && !Array.isArray(wanted)) {
    for (const [key, field] of Object.entries(wanted))
      expectFields((told as Readonly<Record<string, unknown>>)[key], field, key);
  } else expect(told).toEqual(wanted);
}

function nameOf(member: unknown): unknown {
  return typeof member === 'object' && member !== null && 'name' in member ? member.name : member;
}
