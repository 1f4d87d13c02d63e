import { SecboxError } from '@secbox/contracts';

/** More than any request of ours has: inputs, arguments and variables together are a few thousand. */
export const maxValues = 100_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const bracket = 0x5b;
const brace = 0x7b;

/**
 * Refuses JSON of too many values before it is parsed: a few megabytes of `{},{},…` become hundreds in memory, and
 * whoever checks them is busy for seconds. What is inside of strings does not count.
 */
export function refuseManyValues(json: Buffer): void {
  if (json.length <= maxValues) return;
  let values = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at);
    else if (byte === comma || byte === colon || byte === bracket || byte === brace) values += 1;
    if (values > maxValues) {
      throw new SecboxError('body_too_large', `The body has more than ${maxValues} values.`, {
        details: { limit_values: maxValues },
      });
    }
  }
}

/** Where the string that begins at `start` ends; the end of all when it does not. */
function endOfString(json: Buffer, start: number): number {
  for (let at = json.indexOf(quote, start + 1); at > 0; at = json.indexOf(quote, at + 1)) {
    let before = at;
    while (json[before - 1] === backslash) before -= 1;
    if ((at - before) % 2 === 0) return at;
  }
  return json.length;
}
