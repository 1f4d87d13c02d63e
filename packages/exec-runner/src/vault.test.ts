import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Vault } from './vault.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'secbox-vault-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const canary = Buffer.from('canary-4471');

describe('the key file', () => {
  test('is made once, for us alone, and stays the same', async () => {
    const path = join(folder, 'key');
    const first = await Vault.open(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const second = await Vault.open(path);
    expect(second.fingerprint('x')).toBe(first.fingerprint('x'));
    expect(second.unseal(first.seal(canary, 'c'), 'c')).toEqual(canary);
    expect(await readdir(folder)).toEqual(['key']);
  });

  test('of twenty who make it at once all get the same', async () => {
    const path = join(folder, 'key');
    const vaults = await Promise.all(Array.from({ length: 20 }, () => Vault.open(path)));
    expect(new Set(vaults.map((vault) => vault.fingerprint('x'))).size).toBe(1);
    expect(await readdir(folder)).toEqual(['key']);
  });

  test('that is damaged is told, not replaced', async () => {
    const path = join(folder, 'key');
    await writeFile(path, 'short');
    await expect(Vault.open(path)).rejects.toThrow('is damaged');
  });
});

describe('what is sealed', () => {
  const vault = new Vault(Buffer.alloc(32, 1));

  test('does not show, and is never the same twice', () => {
    const sealed = vault.seal(canary, 'c');
    expect(sealed.includes(canary)).toBe(false);
    expect(vault.seal(canary, 'c').equals(sealed)).toBe(false);
  });

  test('opens only whole, unchanged, for its context, with its key', () => {
    const sealed = vault.seal(canary, 'c');
    expect(() => vault.unseal(sealed, 'd')).toThrow();
    expect(() => new Vault(Buffer.alloc(32, 2)).unseal(sealed, 'c')).toThrow();
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8((changed.readUInt8(at) + 1) % 256, at);
      expect(() => vault.unseal(changed, 'c')).toThrow();
      expect(() => vault.unseal(sealed.subarray(0, at), 'c')).toThrow();
    }
  });
});

test('a fingerprint depends on the key and on every byte', () => {
  const vault = new Vault(Buffer.alloc(32, 1));
  expect(vault.fingerprint('a')).toMatch(/^[0-9a-f]{64}$/);
  expect(vault.fingerprint('a')).not.toBe(vault.fingerprint('b'));
  expect(vault.fingerprint('a')).not.toBe(new Vault(Buffer.alloc(32, 2)).fingerprint('a'));
});
