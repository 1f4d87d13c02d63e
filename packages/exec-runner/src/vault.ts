import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { isErrno } from '@secbox/workspace';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

/**
 * Keeps what must not be readable in our files: seals what has to wait on disk, and makes fingerprints
 * that tell nothing about what they were taken of to anyone without the key.
 */
export class Vault {
  readonly #sealingKey: Buffer;
  readonly #fingerprintKey: Buffer;

  constructor(key: Buffer) {
    const derive = (purpose: string) =>
      Buffer.from(hkdfSync('sha256', key, '', `secbox ${purpose}`, keyBytes));
    this.#sealingKey = derive('sealing');
    this.#fingerprintKey = derive('fingerprint');
  }

  /** Opens the key file, making it on first use. It is ours alone to read. */
  static async open(path: string): Promise<Vault> {
    const key = await readFile(path).catch(async (error: unknown) => {
      if (!isErrno(error, 'ENOENT')) throw error;
      await createKey(path);
      return readFile(path);
    });
    if (key.length !== keyBytes) {
      throw new Error(`The key file ${path} is damaged: it has ${key.length} bytes instead of ${keyBytes}.`);
    }
    return new Vault(key);
  }

  /** A keyed hash, in hexadecimal. */
  fingerprint(data: string | Buffer): string {
    return createHmac('sha256', this.#fingerprintKey).update(data).digest('hex');
  }

  /** `context` is bound to it: what was sealed for one purpose cannot be opened for another. */
  seal(data: Buffer, context: string): Buffer {
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, this.#sealingKey, nonce).setAAD(Buffer.from(context));
    const sealed = Buffer.concat([sealing.update(data), sealing.final()]);
    return Buffer.concat([nonce, sealing.getAuthTag(), sealed]);
  }

  /** Throws when it was not sealed by this vault for this context, or was changed since. */
  unseal(sealed: Buffer, context: string): Buffer {
    const nonce = sealed.subarray(0, nonceBytes);
    const tag = sealed.subarray(nonceBytes, nonceBytes + tagBytes);
    const opening = createDecipheriv(cipher, this.#sealingKey, nonce, { authTagLength: tagBytes })
      .setAAD(Buffer.from(context))
      .setAuthTag(tag);
    return Buffer.concat([opening.update(sealed.subarray(nonceBytes + tagBytes)), opening.final()]);
  }
}

/** Whole or not at all, and never in place of one that someone else has just made. */
async function createKey(path: string): Promise<void> {
  const staged = `${path}.${randomBytes(6).toString('hex')}`;
  const file = await open(staged, 'wx', 0o600);
  try {
    await file.writeFile(randomBytes(keyBytes));
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(staged, path);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  } finally {
    await rm(staged, { force: true });
  }
}
