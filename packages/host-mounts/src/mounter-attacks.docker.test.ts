import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { requestFrame } from './protocol.js';
import { MountingPlace, mountsProgram } from './testing/mounting-place.js';

const whereFoldersAreMounted =
  process.platform === 'linux' && process.getuid?.() === 0 ? describe : describe.skip;

let place: MountingPlace;
beforeEach(async () => {
  place = await MountingPlace.open();
  await place.makeSources();
  await mkdir(place.target('s', 'work'), { recursive: true });
});
afterEach(async () => {
  expect(await place.close()).toEqual([]);
});

/** Sends bytes to a program of its own, and gives what it answered and how it ended. */
async function talk(...bytes: readonly Buffer[]) {
  const child = spawn(mountsProgram(), ['--source', place.sources, '--target', place.targets]);
  const [stdout, stderr]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (data: Buffer) => stdout.push(data));
  child.stderr.on('data', (data: Buffer) => stderr.push(data));
  child.stdin.on('error', () => undefined);
  child.stdin.end(Buffer.concat(bytes));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const ready = '000000050000000000';
  const answered = Buffer.concat(stdout).toString('hex');
  expect(answered.slice(0, ready.length)).toBe(ready);
  return {
    code,
    signal,
    answers: Buffer.from(answered.slice(ready.length), 'hex').toString('latin1'),
    said: Buffer.concat(stderr).toString(),
  };
}

const unmount = () => requestFrame(7, { verb: 'unmount', paths: [place.target('s', 'work')] });
const done = '\0\0\0\x05\0\0\0\x07\0';
const refused = (id: number, reason: string) =>
  `\0\0\0${String.fromCharCode(5 + reason.length)}\0\0\0${String.fromCharCode(id)}\x01${reason}`;

whereFoldersAreMounted('the program', () => {
  test('ends in peace when nobody asks for anything', async () => {
    expect(await talk()).toEqual({ code: 0, signal: null, answers: '', said: '' });
  });

  test('refuses what makes no sense, and does what comes after it', async () => {
    const body = (hex: string) => {
      const bytes = Buffer.from(hex, 'hex');
      const frame = Buffer.alloc(4 + bytes.length);
      frame.writeUInt32BE(bytes.length, 0);
      bytes.copy(frame, 4);
      return frame;
    };
    const path = Buffer.from(`${place.target('s', 'work')}\0`).toString('hex');
    const nonsense = [
      ['no such verb', `0000000100000001${path}`],
      ['no such verb', `00000001ff000001${path}`],
      ['no such flag', `0000000103800001${path}`],
      ['a flag that is not of this verb', `0000000103010001${path}`],
      ['more strings than there are', `0000000103000002${path}`],
      ['fewer strings than there are', `0000000103000000${path}`],
      ['as many strings as can be said', `000000010300ffff${path}`],
      ['a string without an end', `0000000103000001${path.slice(0, -2)}`],
      ['a NUL within', `0000000103000001${path}00`],
      ['no strings', `0000000101000000`],
      ['an overlay without layers', `0000000102000003${path.repeat(3)}`],
    ] as const;
    for (const [name, hex] of nonsense) {
      const { code, answers } = await talk(body(hex), unmount());
      expect([name, code, answers]).toEqual([name, 0, refused(1, 'request EINVAL') + done]);
    }
  });

  test.each([
    ['of no length', '00000000'],
    ['too short to be one', '00000007'],
    ['longer than any', '00010001'],
    ['of four gigabytes', 'ffffffff'],
    ['of text', Buffer.from('GET / HTTP/1.1\r\n\r\n').toString('hex')],
  ])('ends at a frame %s, and does nothing that follows', async (_, hex) => {
    await place.mounts.bind({
      source: place.source('work'),
      target: place.target('s', 'work'),
      readOnly: true,
    });
    const { code, answers, said } = await talk(Buffer.from(hex, 'hex'), unmount());
    expect([code, answers]).toEqual([65, '']);
    expect(said).toContain('length');
    expect(await place.left()).toEqual([place.target('s', 'work')]);
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('does nothing of a request that is cut off, wherever', async () => {
    await place.mounts.bind({
      source: place.source('work'),
      target: place.target('s', 'work'),
      readOnly: true,
    });
    const frame = unmount();
    for (const length of [1, 3, 4, 5, 11, 12, frame.length - 1]) {
      const { code, answers } = await talk(frame.subarray(0, length));
      expect([length, code, answers]).toEqual([length, 65, '']);
    }
    expect(await place.left()).toEqual([place.target('s', 'work')]);
    await place.mounts.unmount(place.target('s', 'work'));
  });

  test('takes the largest request there is, and many in one go', async () => {
    const largest = requestFrame(7, { verb: 'unmount', paths: ['/'.padEnd(65_536 - 9, 'a')] });
    const { code, answers } = await talk(largest, ...Array.from({ length: 1000 }, unmount), largest);
    const tooLong = refused(7, 'target ENAMETOOLONG');
    expect([code, answers]).toEqual([0, tooLong + done.repeat(1000) + tooLong]);
  });

  test('survives random bytes as frames', async () => {
    const random = (length: number) => {
      const bytes = Buffer.alloc(4 + length);
      for (let at = 4; at < bytes.length; at++) bytes[at] = Math.floor(Math.random() * 256);
      // Verbs that are there, so that it looks further.
      bytes[8] = 1 + ((bytes[8] ?? 0) % 4);
      bytes.writeUInt16BE(Math.floor(Math.random() * 12), 10);
      bytes.writeUInt32BE(length, 0);
      return bytes;
    };
    const frames = Array.from({ length: 2000 }, () => random(8 + Math.floor(Math.random() * 100)));
    const { code, signal, answers } = await talk(...frames, unmount());
    expect([code, signal]).toEqual([0, null]);
    expect(answers.endsWith(done)).toBe(true);
    expect(await place.left()).toEqual([]);
  });

  test('keeps no right but those it needs, and makes no call but its own', async () => {
    const status = await readFile(`/proc/${place.mounts.pid ?? 0}/status`, 'utf8');
    const field = (name: string) => new RegExp(`^${name}:\\t(.*)$`, 'm').exec(status)?.[1];
    // CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SYS_ADMIN.
    const kept = '000000000020001f';
    expect([field('CapEff'), field('CapPrm'), field('CapBnd')]).toEqual([kept, kept, kept]);
    expect([field('CapInh'), field('CapAmb')]).toEqual(['0'.repeat(16), '0'.repeat(16)]);
    expect([field('NoNewPrivs'), field('Seccomp')]).toEqual(['1', '2']);
    expect((await readdir(`/proc/${place.mounts.pid ?? 0}/fd`)).length).toBe(5);
    expect(await readFile(`/proc/${place.mounts.pid ?? 0}/environ`, 'utf8')).toBe('');
  });

  test('led by names that are swapped for links ten thousand times never mounts or unmounts elsewhere', async () => {
    const outside = join(place.root, 'outside');
    await mkdir(join(outside, 'work'), { recursive: true });
    // Would be unmounted by whoever follows the link.
    execFileSync('mount', ['-t', 'tmpfs', 'none', join(outside, 'work')]);
    await writeFile(join(outside, 'work', 'secret'), '');
    await mkdir(place.source('project', 'work'), { recursive: true });
    await symlink(outside, place.source('link'));
    await symlink(outside, place.target('link'));
    const target = place.target('s', 'work');
    const swapper = swap(
      [place.source('project'), place.source('link')],
      [place.target('s'), place.target('link')],
    );
    const tally = { made: 0, refused: 0 };
    const tried = (request: Promise<void>) =>
      request.then(
        () => true,
        () => false,
      );
    try {
      await once(swapper.stdout, 'data');
      for (let n = 0; n < 10_000; n++) {
        const made = await tried(
          place.mounts.bind({ source: place.source('project', 'work'), target, readOnly: true }),
        );
        tally[made ? 'made' : 'refused'] += 1;
        if (!made) continue;
        const [mount, ...more] = (await mountsIn(place.root)).filter(
          ({ point }) => !point.startsWith(outside),
        );
        // By the kernel's own names, whatever they are at this moment.
        expect(more).toEqual([]);
        expect(mount?.point).toMatch(/\/slots\/[^/]+\/work$/);
        expect(mount?.root).toMatch(/\/sources\/[^/]+\/work$/);
        while (!(await tried(place.mounts.unmount(target)))) tally.refused += 1;
      }
    } finally {
      swapper.kill('SIGKILL');
      await once(swapper, 'close');
      const still = (await place.left()).filter((point) => !point.startsWith(`${place.root}/slots`));
      execFileSync('umount', [join(outside, 'work')]);
      expect(still).toEqual([join(outside, 'work')]);
    }
    expect(tally.made).toBeGreaterThan(100);
    expect(tally.refused).toBeGreaterThan(100);
  });
});

/** Exchanges each folder and its link, back and forth, as fast as it can, and says when it has begun. */
function swap(...pairs: readonly (readonly [folder: string, link: string])[]) {
  const script = `
    const { renameSync } = require('node:fs');
    const pairs = JSON.parse(process.argv[1]);
    const move = (from, to) => { renameSync(from, to); };
    for (let turn = 0; ; turn++) {
      for (const [folder, link] of pairs) {
        move(folder, folder + '-aside'); move(link, folder);
        if (turn === 0) console.log('begun');
        move(folder, link); move(folder + '-aside', folder);
      }
    }`;
  return spawn(process.execPath, ['-e', script, JSON.stringify(pairs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function mountsIn(folder: string): Promise<{ readonly root: string; readonly point: string }[]> {
  const unescaped = (text = '') => text.replaceAll('\\040', ' ');
  return (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .map((line) => line.split(' '))
    .map((fields) => ({ root: unescaped(fields[3]), point: unescaped(fields[4]) }))
    .filter(({ point }) => point.startsWith(`${folder}/`));
}
