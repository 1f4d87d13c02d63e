import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SecboxClient, type LayeredSkills } from '@secbox/client';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { skillZip } from '../v1/v1-calls.js';
import { brokenLine, type BrokenLine } from './broken-line.js';

const files = { 'SKILL.md': '# Weather\n', 'main.py': 'import sys\nprint("rain")\nprint(sys.argv)\n' };
let service: KeyedService;
let line: BrokenLine;
let author: LayeredSkills;
let user: LayeredSkills;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-client-'));
  service = await startKeyedService();
  line = await brokenLine(service.url);
  const { key: authors } = await service.makeKey('default', ['author', 'worker']);
  const { key } = await service.makeKey('default', ['worker']);
  author = new SecboxClient({ url: service.url, key: authors }).layers('author', 'agent');
  user = new SecboxClient({ url: line.url, key, retry: { delayMs: 5 } }).layers('u@1', 'agent');
});
afterAll(async () => {
  await line.close();
  await service.close();
  await rm(folder, { recursive: true });
});

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};

test('an author publishes, users change it for themselves, and take over what came since', async () => {
  const archive = join(folder, '天气.zip');
  await writeFile(archive, skillZip('天气', files));
  const [uploaded] = await author.upload(await openAsBlob(archive), { scope: 'baseline' });
  expect(uploaded).toMatchObject({
    id: '天气',
    name: 'Weather',
    version: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  const [mine, theirs] = [user.skill('天气'), author.skill('天气')];
  expect(await user.list()).toMatchObject([{ id: '天气', status: 'UNCHANGED', layer: 'baseline' }]);
  expect(await all(mine.files())).toEqual(['SKILL.md', 'main.py']);
  const { etag } = await mine.edit('main.py', 'print("sun")', { start: 2, end: 2 });
  expect(await mine.readLines('main.py', { start: 2, end: 2 })).toEqual(['print("sun")']);
  expect(await theirs.read('main.py')).toBe(files['main.py']);
  expect((await mine.diff()).files).toMatchObject([{ path: 'main.py', change: 'changed' }]);
  await expect(mine.edit('main.py', 'x', { ifMatch: '0'.repeat(64) })).rejects.toMatchObject({
    status: 412,
    kind: 'conflict',
    code: 'file_changed',
    details: { etag },
  });
  await theirs.edit('main.py', 'print("snow")', { start: 2, end: 2 });
  const { version, previous } = await theirs.baseline();
  expect(previous).toBe(uploaded?.version);
  expect(await mine.status()).toMatchObject({ status: 'OUT_OF_SYNC', modified: true });
  expect(await mine.sync()).toMatchObject({ version, conflicts: [{ path: 'main.py' }] });
  expect((await all(theirs.versions())).map((each) => [each.version, each.current])).toEqual([
    [version, true],
    [previous, false],
  ]);
  expect(await theirs.restoreVersion(previous ?? '')).toEqual({ version: previous, previous: version });
  await expect(mine.baseline()).rejects.toMatchObject({ status: 403, code: 'role_required' });
});

test('bytes go in and out, and files are moved and deleted, in a skill and in the sandbox', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
  for (const place of [user.skill('own'), user.sandbox]) {
    expect(await place.write('a/ü#?', bytes, { executable: true })).toMatchObject({
      bytes: 256,
      created: true,
    });
    expect(await (await place.open('a/ü#?')).bytes()).toEqual(bytes);
    await expect(place.write('a/ü#?', bytes, { ifAbsent: true })).rejects.toMatchObject({ status: 412 });
    await place.move('a/ü#?', 'b');
    await place.edit('c', 'text');
    expect(await all(place.files())).toEqual(['b', 'c']);
    await place.delete('b');
    expect(await all(place.files())).toEqual(['c']);
  }
});

test('commands run once, also when the answer is lost on the way', async () => {
  const skill = user.skill('counted');
  await skill.edit('count.py', 'open("n", "a").write("x")\nprint(open("n").read())\n');
  line.cutAfter(0);
  const { stdout, exit_code, effects } = await skill.execute('python3', ['count.py']);
  expect([stdout, exit_code, effects?.totals.added]).toEqual(['x\n', 0, 1]);
  await user.sandbox.edit('f', 'hello');
  expect(await user.sandbox.execute('cat', ['f'])).toMatchObject({ stdout: 'hello', stderror: '' });
  await expect(user.sandbox.execute('nc')).rejects.toMatchObject({ status: 403, code: 'command_refused' });
});
