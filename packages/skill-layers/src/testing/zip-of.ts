import { crc32 } from 'node:zlib';

/** A ZIP of these texts below one folder, or below none, stored as they are. */
export function zipOf(folder: string, files: Readonly<Record<string, string | Buffer>>): Buffer {
  const parts: Buffer[] = [];
  const records: Buffer[] = [];
  let at = 0;
  for (const [path, text] of Object.entries(files)) {
    const name = Buffer.from(folder === '' ? path : `${folder}/${path}`);
    const content = Buffer.from(text);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x800, 2);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(content.length, 14);
    shared.writeUInt32LE(content.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    rest.writeUInt32LE(at, 10);
    records.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03', 'latin1'), shared, rest, name]));
    const part = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, name, content]);
    parts.push(part);
    at += part.length;
  }
  const directory = Buffer.concat(records);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(records.length, 4);
  end.writeUInt16LE(records.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...parts, directory, Buffer.from('PK\x05\x06', 'latin1'), end]);
}
