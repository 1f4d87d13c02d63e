import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A key as its holder has it: `sbx_<10 hex digits>_<256 random bits>`. */
export interface KeyToken {
  readonly token: string;
  /** The part that is shown and looked up by; it opens nothing. */
  readonly prefix: string;
  readonly digest: string;
}

const form = /^(sbx_[0-9a-f]{10})_[A-Za-z0-9_-]{43}$/;

export function newKeyToken(): KeyToken {
  const prefix = `sbx_${randomBytes(5).toString('hex')}`;
  const token = `${prefix}_${randomBytes(32).toString('base64url')}`;
  return { token, prefix, digest: digestOf(token) };
}

/** Undefined when it cannot be a key of ours. */
export function readKeyToken(text: string): KeyToken | undefined {
  const prefix = form.exec(text)?.[1];
  return prefix === undefined ? undefined : { token: text, prefix, digest: digestOf(text) };
}

/** Without telling by the time it takes how much of the two agrees. */
export function sameDigest(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a, 'hex'), Buffer.from(b, 'hex')];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** A plain hash is enough: what has 256 random bits cannot be guessed from it. */
function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
