const single: Record<string, string> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\x1b',
  E: '\x1b',
  '0': '\0',
  '\n': '',
};

const sequence =
  /\\(?:u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|u([0-9a-fA-F]{1,4})|x([0-9a-fA-F]{1,2})|([0-7]{1,3})|([\s\S]))/g;

/** What a text means once its escape sequences are read; python, javascript and $'…' of bash agree on nearly all. */
export function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(
    sequence,
    (_, braced?: string, long?: string, short?: string, hex?: string, octal?: string, other?: string) => {
      const digits = braced ?? long ?? short ?? hex;
      const code = digits === undefined ? Number.parseInt(octal ?? 'x', 8) : Number.parseInt(digits, 16);
      if (!Number.isNaN(code)) return code <= 0x10ffff ? String.fromCodePoint(code) : '';
      return single[other ?? ''] ?? other ?? '';
    },
  );
}
