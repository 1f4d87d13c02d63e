import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Directory } from './directory.js';
import { finishPublishing, publishResults, reservedNames, setReservedNamesAside } from './publish-results.js';

describe('the results of an exec', () => {
  let temporary: string;
  let artifacts: Directory;
  let spool: Directory;
  const at = (path: string) => join(temporary, path);

  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'secbox-publish-'));
    await mkdir(at('artifacts'));
    await mkdir(at('spool'));
    artifacts = Directory.open(at('artifacts'));
    spool = Directory.open(at('spool'));
  });

  afterEach(async () => {
    artifacts.close();
    spool.close();
    await rm(temporary, { recursive: true });
  });

  const documents = { manifest: { files: ['<\u2028>'] }, meta: { exit_code: 0 } };

  async function spoolOutput(): Promise<void> {
    await writeFile(at('spool/stdout.txt'), 'out');
    await writeFile(at('spool/stderr.txt'), 'err');
  }

  test('are published under their four names, and the spool is left empty', async () => {
    await spoolOutput();
    await writeFile(at('artifacts/plot.png'), 'theirs');
    await publishResults(spool, artifacts, documents);
    expect((await readdir(at('artifacts'))).sort()).toEqual([
      'manifest.json',
      'meta.json',
      'plot.png',
      'stderr.txt',
      'stdout.txt',
    ]);
    expect(await readdir(at('spool'))).toEqual([]);
    expect(await readFile(at('artifacts/stdout.txt'), 'utf8')).toBe('out');
    expect(await readFile(at('artifacts/stderr.txt'), 'utf8')).toBe('err');
    expect(JSON.parse(await readFile(at('artifacts/manifest.json'), 'utf8'))).toEqual(documents.manifest);
    expect(JSON.parse(await readFile(at('artifacts/meta.json'), 'utf8'))).toEqual(documents.meta);
  });

  test('meta.json comes last: where it is, everything is', async () => {
    await spoolOutput();
    const moved: string[] = [];
    const rename = spool.rename.bind(spool);
    spool.rename = (name, to, toName) => {
      moved.push(toName.toString());
      // What a crash right before this step would leave behind.
      expect(readdirSync(at('artifacts'))).not.toContain('meta.json');
      rename(name, to, toName);
    };
    await publishResults(spool, artifacts, documents);
    expect(moved.at(-1)).toBe('meta.json');
    expect([...moved].sort()).toEqual([...reservedNames].sort());
  });

  test('are published by the next try where one was cut off', async () => {
    await spoolOutput();
    const rename = spool.rename.bind(spool);
    for (const cutOffAt of reservedNames) {
      spool.rename = (name, to, toName) => {
        if (toName === cutOffAt) throw new Error('no room');
        rename(name, to, toName);
      };
      await expect(publishResults(spool, artifacts, documents)).rejects.toThrow('no room');
      // As a disk that was full leaves it.
      await writeFile(at('spool/meta.json'), '{"cut');
    }
    spool.rename = rename;
    await publishResults(spool, artifacts, documents);
    expect(await readFile(at('artifacts/stdout.txt'), 'utf8')).toBe('out');
    expect(JSON.parse(await readFile(at('artifacts/meta.json'), 'utf8'))).toEqual(documents.meta);
    expect(await readdir(at('spool'))).toEqual([]);
  });

  test.each(reservedNames)(
    'are published by the next server where one was killed at %s',
    async (cutOffAt) => {
      await spoolOutput();
      const rename = spool.rename.bind(spool);
      spool.rename = (name, to, toName) => {
        if (toName === cutOffAt) throw new Error('killed');
        rename(name, to, toName);
      };
      await expect(publishResults(spool, artifacts, documents)).rejects.toThrow('killed');
      spool.rename = rename;
      for (let times = 0; times < 2; times += 1) {
        expect(await finishPublishing(spool, artifacts)).toEqual(documents);
        expect((await readdir(at('artifacts'))).sort()).toEqual([...reservedNames].sort());
        expect(await readFile(at('artifacts/stdout.txt'), 'utf8')).toBe('out');
        expect(await readdir(at('spool'))).toEqual([]);
      }
    },
  );

  test('are not taken for begun by what the program planted, nor by a document that was cut off', async () => {
    await spoolOutput();
    for (const name of ['manifest.json', 'meta.json'])
      await writeFile(at(`artifacts/${name}`), '{"forged":1}');
    expect(await finishPublishing(spool, artifacts)).toBeUndefined();
    await writeFile(at('spool/manifest.json'), '{}');
    await writeFile(at('spool/meta.json'), '{"cut');
    expect(await finishPublishing(spool, artifacts)).toBeUndefined();
    expect(await readFile(at('spool/stdout.txt'), 'utf8')).toBe('out');
    expect((await readdir(at('artifacts'))).sort()).toEqual(['manifest.json', 'meta.json']);
  });

  test('go back into the spool where a power cut emptied their documents', async () => {
    await spoolOutput();
    await publishResults(spool, artifacts, documents);
    await writeFile(at('artifacts/meta.json'), '');
    expect(await finishPublishing(spool, artifacts)).toBeUndefined();
    expect(await readFile(at('spool/stdout.txt'), 'utf8')).toBe('out');
    expect(await readdir(at('artifacts'))).toEqual([]);
    await publishResults(spool, artifacts, documents);
    expect(await finishPublishing(spool, artifacts)).toEqual(documents);
  });

  test('without the output there is no meta.json', async () => {
    await writeFile(at('spool/stdout.txt'), 'out');
    await expect(publishResults(spool, artifacts, documents)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await readdir(at('artifacts'))).not.toContain('meta.json');
  });

  test('what the program planted under our names is kept beside them (case 27)', async () => {
    const outside = at('outside');
    await writeFile(outside, 'outside');
    await writeFile(at('artifacts/stdout.txt'), 'planted');
    await mkdir(at('artifacts/manifest.json/folder'), { recursive: true });
    await symlink(outside, at('artifacts/meta.json'));
    const setAside = setReservedNamesAside(artifacts);
    expect(setAside).toEqual([
      { name: 'stdout.txt', kept_as: 'stdout.txt.from-exec' },
      { name: 'manifest.json', kept_as: 'manifest.json.from-exec' },
      { name: 'meta.json', kept_as: 'meta.json.from-exec' },
    ]);
    await spoolOutput();
    await publishResults(spool, artifacts, documents);
    expect(await readFile(at('artifacts/stdout.txt'), 'utf8')).toBe('out');
    expect(await readFile(at('artifacts/stdout.txt.from-exec'), 'utf8')).toBe('planted');
    expect(await readdir(at('artifacts/manifest.json.from-exec'))).toEqual(['folder']);
    expect(await readlink(at('artifacts/meta.json.from-exec'))).toBe(outside);
    expect(await readFile(outside, 'utf8')).toBe('outside');
  });

  test('what was planted under the name beside ours is not overwritten either (case 27)', async () => {
    await writeFile(at('artifacts/meta.json'), '1');
    await writeFile(at('artifacts/meta.json.from-exec'), '2');
    await mkdir(at('artifacts/meta.json.from-exec.2'));
    expect(setReservedNamesAside(artifacts)).toEqual([
      { name: 'meta.json', kept_as: 'meta.json.from-exec.3' },
    ]);
    expect(await readFile(at('artifacts/meta.json.from-exec.3'), 'utf8')).toBe('1');
    expect(await readFile(at('artifacts/meta.json.from-exec'), 'utf8')).toBe('2');
  });

  test('who plants every name that could be guessed gains no time with it (case 27)', async () => {
    for (const end of ['', '.from-exec', '.from-exec.2', '.from-exec.3', '.from-exec.4']) {
      await writeFile(at(`artifacts/meta.json${end}`), end);
    }
    const [moved] = setReservedNamesAside(artifacts);
    expect(moved?.kept_as).toMatch(/^meta\.json\.from-exec\.[0-9a-f-]{36}$/);
    expect(await readFile(at(`artifacts/${moved?.kept_as ?? ''}`), 'utf8')).toBe('');
  });

  test('nothing is set aside where nothing was planted', async () => {
    await writeFile(at('artifacts/stdout.txt.from-exec'), 'theirs');
    expect(setReservedNamesAside(artifacts)).toEqual([]);
    expect(await readdir(at('artifacts'))).toEqual(['stdout.txt.from-exec']);
  });
});
