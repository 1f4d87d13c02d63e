import { InitError } from './init-error.js';
import { headerBytes, limits, magic, toInit } from './protocol.js';

export function encodeFrame(type: number, payload: Uint8Array): Buffer {
  const frame = Buffer.alloc(headerBytes + payload.length);
  magic.copy(frame, 0);
  frame.writeUInt8(type, 2);
  frame.writeUInt32BE(payload.length, 4);
  frame.set(payload, headerBytes);
  return frame;
}

/** The caller has the credit for it. */
export function encodeStdin(bytes: Uint8Array): Buffer {
  if (bytes.length === 0 || bytes.length > limits.stdinWindowBytes) {
    throw new InitError('bad_request', `A stdin frame holds 1 to ${limits.stdinWindowBytes} bytes.`);
  }
  return encodeFrame(toInit.stdin, bytes);
}

/** What was started ahead will not be needed. */
export function encodeClear(): Buffer {
  return encodeFrame(toInit.clear, Buffer.alloc(0));
}

export function encodeStdinEnd(): Buffer {
  return encodeFrame(toInit.stdinEnd, Buffer.alloc(0));
}

/** Sends the signal to every process of the sandbox, and SIGKILL to what is left after the grace. */
export function encodeKill(signal: number, graceMs: number): Buffer {
  if (!Number.isInteger(signal) || signal < 1 || signal > 64) {
    throw new InitError('bad_request', 'A signal is a number from 1 to 64.');
  }
  if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > 0xffff_ffff) {
    throw new InitError('bad_request', 'A grace is a whole number of milliseconds below 2^32.');
  }
  const payload = Buffer.alloc(8);
  payload.writeUInt8(signal, 0);
  payload.writeUInt32BE(graceMs, 4);
  return encodeFrame(toInit.kill, payload);
}
