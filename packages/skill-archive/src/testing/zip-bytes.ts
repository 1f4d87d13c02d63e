import { crc32, deflateRawSync } from 'node:zlib';

/** One entry, and every way in which it may lie. */
export interface ZipPart {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  /** What its deflated content is, without there being any. */
  readonly packed?: Buffer;
  readonly method?: number;
  readonly flags?: number;
  readonly mode?: number;
  readonly madeBy?: number;
  readonly dosAttributes?: number;
  /** In place of the true one, in the directory. */
  readonly bytes?: number;
  readonly packedBytes?: number;
  readonly crc32?: number;
  readonly extra?: Buffer;
  /** Of the local header, where it differs. */
  readonly localName?: string | Buffer;
  readonly localExtra?: Buffer;
  /** Sizes and checksum follow the content instead of standing in the local header. */
  readonly dataDescriptor?: boolean;
  /** Sizes and offset are told in the zip64 extra field. */
  readonly zip64?: boolean;
  /** Points at the content of the part of that index. */
  readonly sharesWith?: number;
}

export interface ZipEnd {
  readonly entries?: number;
  readonly comment?: Buffer;
  readonly directoryBytes?: number;
  readonly zip64?: boolean;
  readonly zip64Entries?: bigint;
}

const all32 = 0xffffffff;

/** A ZIP, byte by byte, true unless it is told to lie. */
export function zipBytes(parts: readonly ZipPart[], end: ZipEnd = {}): Buffer {
  const pieces: Buffer[] = [];
  const records: Buffer[] = [];
  const offsets: number[] = [];
  let at = 0;
  for (const part of parts) {
    const content = Buffer.from(part.content ?? '');
    const method = part.method ?? (content.length > 0 || part.packed ? 8 : 0);
    const packed = part.packed ?? (method === 8 ? deflateRawSync(content) : content);
    const offset = part.sharesWith === undefined ? at : (offsets[part.sharesWith] ?? 0);
    offsets.push(offset);
    if (part.sharesWith === undefined) {
      const local = localHeader(part, method, content, packed);
      pieces.push(local, packed);
      at += local.length + packed.length;
      if (part.dataDescriptor === true) {
        const descriptor = numbers(
          [4, 0x08074b50],
          [4, crc32(content)],
          [4, packed.length],
          [4, content.length],
        );
        pieces.push(descriptor);
        at += descriptor.length;
      }
    }
    records.push(directoryRecord(part, { method, content, packed, offset }));
  }
  const directory = Buffer.concat(records);
  return Buffer.concat([...pieces, directory, endOf(parts.length, at, directory.length, end)]);
}

function localHeader(part: ZipPart, method: number, content: Buffer, packed: Buffer): Buffer {
  const name = Buffer.from(part.localName ?? part.name);
  const extra = part.localExtra ?? part.extra ?? Buffer.alloc(0);
  const late = part.dataDescriptor === true;
  return Buffer.concat([
    numbers(
      [4, 0x04034b50],
      [2, 20],
      [2, flagsOf(part)],
      [2, method],
      [4, 0],
      [4, late ? 0 : crc32(content)],
    ),
    numbers(
      [4, late ? 0 : packed.length],
      [4, late ? 0 : content.length],
      [2, name.length],
      [2, extra.length],
    ),
    name,
    extra,
  ]);
}

function directoryRecord(
  part: ZipPart,
  { method, content, packed, offset }: { method: number; content: Buffer; packed: Buffer; offset: number },
): Buffer {
  const name = Buffer.from(part.name);
  const bytes = part.bytes ?? content.length;
  const packedBytes = part.packedBytes ?? packed.length;
  const long = Buffer.alloc(28);
  long.writeUInt16LE(1, 0);
  long.writeUInt16LE(24, 2);
  [bytes, packedBytes, offset].forEach((value, n) => long.writeBigUInt64LE(BigInt(value), 4 + n * 8));
  const extra = part.zip64 === true ? long : (part.extra ?? Buffer.alloc(0));
  const told = (value: number) => (part.zip64 === true ? all32 : value);
  return Buffer.concat([
    numbers(
      [4, 0x02014b50],
      [2, ((part.madeBy ?? 3) << 8) | 20],
      [2, 20],
      [2, flagsOf(part)],
      [2, method],
      [4, 0],
    ),
    numbers([4, part.crc32 ?? crc32(content)], [4, told(packedBytes)], [4, told(bytes)], [2, name.length]),
    numbers(
      [2, extra.length],
      [2, 0],
      [2, 0],
      [2, 0],
      [2, part.dosAttributes ?? 0],
      [2, part.mode ?? 0o100644],
    ),
    numbers([4, told(offset)]),
    name,
    extra,
  ]);
}

function flagsOf(part: ZipPart): number {
  return (part.flags ?? 0) | (part.dataDescriptor === true ? 8 : 0);
}

function endOf(entries: number, offset: number, bytes: number, end: ZipEnd): Buffer {
  const comment = end.comment ?? Buffer.alloc(0);
  const count = end.entries ?? entries;
  const short = numbers(
    ...([
      [4, 0x06054b50],
      [2, 0],
      [2, 0],
    ] as const),
    ...([
      [2, end.zip64 === true ? 0xffff : count],
      [2, end.zip64 === true ? 0xffff : count],
    ] as const),
    ...([[4, end.zip64 === true ? all32 : (end.directoryBytes ?? bytes)]] as const),
    ...([
      [4, end.zip64 === true ? all32 : offset],
      [2, comment.length],
    ] as const),
  );
  if (end.zip64 !== true) return Buffer.concat([short, comment]);
  const record = Buffer.alloc(56);
  record.writeUInt32LE(0x06064b50, 0);
  record.writeBigUInt64LE(44n, 4);
  record.writeBigUInt64LE(end.zip64Entries ?? BigInt(count), 24);
  record.writeBigUInt64LE(end.zip64Entries ?? BigInt(count), 32);
  record.writeBigUInt64LE(BigInt(bytes), 40);
  record.writeBigUInt64LE(BigInt(offset), 48);
  const locator = Buffer.alloc(20);
  locator.writeUInt32LE(0x07064b50, 0);
  locator.writeBigUInt64LE(BigInt(offset + bytes), 8);
  locator.writeUInt32LE(1, 16);
  return Buffer.concat([record, locator, short, comment]);
}

function numbers(...fields: readonly (readonly [2 | 4, number])[]): Buffer {
  return Buffer.concat(
    fields.map(([bytes, value]) => {
      const field = Buffer.alloc(bytes);
      field.writeUIntLE(value, 0, bytes);
      return field;
    }),
  );
}
