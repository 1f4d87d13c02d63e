import type { OutputChunk } from './container-engine.js';

const headerLength = 8;
const streams = { 0: 'stdout', 1: 'stdout', 2: 'stderr' } as const;

/**
 * Splits an engine's attach stream (frames of an 8-byte header and data) into chunks. It hands on data
 * as it comes and never gathers a frame, so its memory is that of one network read whatever a frame's
 * header claims; and as it is pulled, a slow consumer slows the container down.
 */
export async function* demultiplex(source: AsyncIterable<Buffer>): AsyncGenerator<OutputChunk> {
  const header = Buffer.alloc(headerLength);
  let headerBytes = 0;
  let stream: OutputChunk['stream'] = 'stdout';
  let remaining = 0;

  for await (const bytes of source) {
    let offset = 0;
    while (offset < bytes.length) {
      if (remaining === 0) {
        const taken = bytes.copy(header, headerBytes, offset, offset + headerLength - headerBytes);
        headerBytes += taken;
        offset += taken;
        if (headerBytes < headerLength) break;
        headerBytes = 0;
        stream = streamOf(header);
        remaining = header.readUInt32BE(4);
        continue;
      }
      const data = bytes.subarray(offset, offset + remaining);
      offset += data.length;
      remaining -= data.length;
      yield { stream, data };
    }
  }
}

function streamOf(header: Buffer): OutputChunk['stream'] {
  const type = header.readUInt8(0);
  if (type === 0 || type === 1 || type === 2) return streams[type];
  throw new Error(`The engine sent a frame of unknown type ${type}.`);
}
