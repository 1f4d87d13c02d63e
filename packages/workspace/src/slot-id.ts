import { randomUUID } from 'node:crypto';

declare const brand: unique symbol;

/** Made only by {@link newSlotId}; safe as one path component. */
export type SlotId = string & { readonly [brand]: 'SlotId' };

export function newSlotId(): SlotId {
  return randomUUID() as SlotId;
}
