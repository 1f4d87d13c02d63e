import { mkdtemp, open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { stagingIn } from '../../apps/core-api/src/layers/sandboxes.js';
import { unpackSkills } from '../../packages/skill-archive/src/unpack-skills.js';
import { at, LayersFixture } from '../../packages/skill-layers/src/testing/layers-fixture.js';
import { zipOf } from '../../packages/skill-layers/src/testing/zip-of.js';

/** More than is unpacked in one piece. */
const content = 'abcdefg'.repeat(200_000);
const pieces = () => [Buffer.from(content.slice(0, 1_000_000)), Buffer.from(content.slice(1_000_000))];

let root: string;
let fixture: LayersFixture;
let handles: object;
let write: () => unknown;

/** What a single write may do, as it says: it takes a part of what it is given. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'secbox-short-'));
  fixture = await LayersFixture.make();
  const some = await open(root);
  handles = Object.getPrototypeOf(some) as object;
  await some.close();
  write = Reflect.get(handles, 'write') as () => unknown;
  const writeShort = function (this: FileHandle, piece: Buffer): unknown {
    return Reflect.apply(write, this, [piece, 0, Math.min(piece.length, 1000)]);
  };
  Reflect.set(handles, 'write', writeShort);
});
afterEach(async () => {
  Reflect.set(handles, 'write', write);
  await fixture.remove();
  await rm(root, { recursive: true });
});

test('a file of a skill is never shorter than what was sent', async () => {
  await fixture.layers.writeFile(at('u'), 'f', pieces());
  expect((await fixture.layers.readText(at('u'), 'f')).text === content).toBe(true);
});

test('a file of an archive is never shorter than what was packed', async () => {
  const archive = join(root, 'upload.zip');
  await writeFile(archive, zipOf('s', { f: content }));
  const [skill] = await unpackSkills(archive, join(root, 'staging'), { archiveName: 'upload.zip' });
  expect((await readFile(join(skill?.folder ?? '', 'f'), 'utf8')) === content).toBe(true);
});

test('what is received for a folder is never shorter than what was sent', async () => {
  const sent = async function* () {
    for (const piece of pieces()) yield await Promise.resolve(piece);
  };
  const received = await stagingIn(fixture.layers)(sent(), 2_000_000, async (staged) => {
    const found: Buffer[] = [];
    for await (const piece of staged()) found.push(piece);
    return Buffer.concat(found).toString();
  });
  expect(received === content).toBe(true);
});
