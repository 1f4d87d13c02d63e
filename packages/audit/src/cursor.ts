import { SecboxError } from '@secbox/contracts';

/** Closes data so that only we can open it again, and only for the same context. */
export interface Seals {
  seal(data: Buffer, context: string): Buffer;
  /** Throws for anything but what {@link seal} gave for this context. */
  unseal(sealed: Buffer, context: string): Buffer;
}

/**
 * The place in a list as callers carry it. It holds for the list it was given for: what was changed, made up
 * or taken from another list is refused.
 */
export class Cursors {
  readonly #seals: Seals;

  constructor(seals: Seals) {
    this.#seals = seals;
  }

  write(after: number, list: unknown): string {
    return this.#seals.seal(Buffer.from(String(after)), contextOf(list)).toString('base64url');
  }

  read(cursor: string | undefined, list: unknown): number | undefined {
    if (cursor === undefined) return undefined;
    try {
      const sealed = Buffer.from(cursor, 'base64url');
      // The decoder skips what it does not know.
      if (sealed.toString('base64url') !== cursor) throw new Error('not base64url');
      return Number(this.#seals.unseal(sealed, contextOf(list)).toString());
    } catch (error) {
      throw new SecboxError('invalid_request', '"cursor" is not one that was given for this list.', {
        details: { field: 'cursor' },
        cause: error,
      });
    }
  }
}

function contextOf(list: unknown): string {
  return `cursor ${JSON.stringify(list)}`;
}
