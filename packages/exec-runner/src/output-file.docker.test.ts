import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Directory } from '@secbox/workspace';
import { OutputFile } from './output-file.js';
import { Progress } from './progress.js';

const whereDisksAre = process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;
const kibibyte = 1024;

let disk: string;
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'secbox-output-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
});
afterEach(async () => {
  execFileSync('umount', [disk]);
  await rm(disk, { recursive: true });
});

whereDisksAre('on a disk that is full', () => {
  test.each([
    ['small', 4 * kibibyte],
    ['large', 64 * kibibyte],
  ])('output that comes in %s pieces is kept, exactly, once there is room', async (_how, piece) => {
    const filler = join(disk, 'filler');
    await writeFile(filler, Buffer.alloc(150 * kibibyte));
    const printed = randomBytes(192 * kibibyte);
    const folder = Directory.open(disk);
    let tellFull: (error: unknown) => void = () => undefined;
    const full = new Promise((resolve) => (tellFull = resolve));
    const file = await OutputFile.create(folder, 'out', printed.length, new Progress(), tellFull);
    const printing = (async () => {
      for (let at = 0; at < printed.length; at += piece) await file.append(printed.subarray(at, at + piece));
    })();
    await full;
    expect((await stat(join(disk, 'out'))).size).toBeLessThan(printed.length);
    await rm(filler);
    await printing;
    const sha256 = createHash('sha256').update(printed).digest('hex');
    expect(file.close()).toEqual({ size: printed.length, sha256, truncated: false });
    expect((await readFile(join(disk, 'out'))).equals(printed)).toBe(true);
    folder.close();
  });
});
