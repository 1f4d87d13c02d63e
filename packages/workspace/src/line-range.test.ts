import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Directory, within } from './directory.js';
import { readLines, replaceLines } from './line-range.js';

const replace = (content: string, text: string, start?: number, end?: number) =>
  replaceLines(Buffer.from(content), text, { start, end }).toString();

describe('replacing lines', () => {
  test.each([
    ['one in the middle', 'a\nb\nc\n', 'B', 2, 2, 'a\nB\nc\n'],
    ['by several', 'a\nb\nc\n', 'x\ny', 2, 2, 'a\nx\ny\nc\n'],
    ['several by one', 'a\nb\nc\n', 'x', 1, 2, 'x\nc\n'],
    ['the last, without an end', 'a\nb', 'B', 2, 2, 'a\nB'],
    ['the last, with an end', 'a\nb\n', 'B', 2, 2, 'a\nB\n'],
    ['with its own end', 'a\nb\nc', 'B\n', 2, 2, 'a\nB\nc'],
    ['by nothing', 'a\nb\nc\n', '', 2, 2, 'a\nc\n'],
    ['to the end', 'a\nb\nc\n', 'x', 2, undefined, 'a\nx\n'],
    ['from the start', 'a\nb\nc\n', 'x', undefined, 2, 'x\nc\n'],
    ['beyond the end', 'a\nb\n', 'x', 2, 99, 'a\nx\n'],
    ['right behind the last appends', 'a\nb\n', 'c', 3, 3, 'a\nb\nc'],
    ['right behind a last without an end', 'a\nb', 'c', 3, 3, 'a\nb\nc'],
    ['of an empty file', '', 'a', 1, 1, 'a'],
    ['of Windows keep theirs', 'a\r\nb\r\nc\r\n', 'B\r\n', 2, 2, 'a\r\nB\r\nc\r\n'],
  ])('%s', (_, content, text, start, end, expected) =>
    expect(replace(content, text, start, end)).toBe(expected),
  );

  test('that are not there, or the wrong way round, is refused', () => {
    expect(() => replace('a\nb\n', 'x', 4)).toThrow(/behind the last line/);
    expect(() => replace('', 'x', 2)).toThrow(/behind the last line/);
    expect(() => replace('a', 'x', 2, 1)).toThrow(/before start/);
    expect(() => replace('a', 'x', 0)).toThrow(/from 1/);
    expect(() => replace('a', 'x', Number.NaN)).toThrow(/from 1/);
  });
});

describe('reading lines', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secbox-lines-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function read(content: string | Buffer, start?: number, end?: number, most = 1e6) {
    const path = join(folder, 'f');
    await writeFile(path, content);
    const file = within(Directory.open(folder), (directory) => directory.openFile('f'));
    try {
      return (await readLines(file, { start, end }, most)).map(String);
    } finally {
      file.close();
    }
  }

  test('is the same as splitting the whole, wherever pieces end', async () => {
    const line = fc.string({ maxLength: 5 }).map((text) => text.replace(/[\r\n]/g, ''));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line),
        fc.boolean(),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(9),
        async (lines, ended, start, more) => {
          const content = lines.join('\n') + (ended && lines.length > 0 ? '\n' : '');
          const all = content === '' ? [] : content.replace(/\n$/, '').split('\n');
          expect(await read(content, start, start + more)).toEqual(all.slice(start - 1, start + more));
        },
      ),
      { numRuns: 50 },
    );
    const long = 'x'.repeat(300_000);
    expect(await read(`${long}\r\ny\n`, 1, 1)).toEqual([long]);
  });

  test('stops where it is enough, and refuses too much', async () => {
    await expect(read('x'.repeat(2000), 1, 1, 1000)).rejects.toMatchObject({ code: 'file_too_large' });
    expect(await read(`a\n${'x'.repeat(2000)}`, 1, 1, 1000)).toEqual(['a']);
  });
});
