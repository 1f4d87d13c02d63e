import { malformed, pointerTo, type MalformedPolicy } from './problems.js';

const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Every own key, however deep, that could reach a prototype if some later code copied it carelessly.
 * Walks without recursion and visits nothing twice: neither depth nor a cycle can hurt.
 */
export function findForbiddenKeys(input: unknown, at: string): MalformedPolicy[] {
  const found: MalformedPolicy[] = [];
  const seen = new Set<object>();
  const waiting: { readonly value: unknown; readonly pointer: string }[] = [{ value: input, pointer: at }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, pointer } = next;
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    seen.add(value);
    for (const [key, child] of Object.entries(value)) {
      const childPointer = pointerTo(pointer, key);
      if (forbidden.has(key)) found.push(malformed(childPointer, 'is not allowed as a key'));
      waiting.push({ value: child, pointer: childPointer });
    }
  }
  return found;
}
