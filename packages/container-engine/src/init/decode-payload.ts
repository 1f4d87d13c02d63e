import { InitError } from './init-error.js';
import type { InitExit, InitFrame } from './init-frame.js';
import {
  aheadStates,
  faults,
  limits,
  prestartNumbers,
  protocolVersion,
  startKinds,
  startSteps,
  toHost,
} from './protocol.js';

const exitFlags = { alone: 0x01 } as const;
const measured = { oom: 0x01, cpu: 0x02, peak: 0x04 } as const;

/** The exact payload length of each frame that is not data. */
export const payloadLengths: ReadonlyMap<number, number> = new Map([
  [toHost.ready, 12],
  [toHost.started, 8],
  [toHost.failed, 8],
  [toHost.stdinCredit, 4],
  [toHost.stdinClosed, 0],
  [toHost.exit, 40],
  [toHost.fault, 8],
  [toHost.ahead, 4],
]);

/** A whole payload of the length above. */
export function decodePayload(type: number, payload: Buffer): InitFrame {
  switch (type) {
    case toHost.ready:
      return ready(payload);
    case toHost.started:
      return {
        type: 'started',
        pid: payload.readUInt32BE(0),
        start: nameOf(startKinds, payload.readUInt32BE(4)),
      };
    case toHost.failed:
      return {
        type: 'failed',
        step: nameOf(startSteps, payload.readUInt8(0)),
        errno: payload.readUInt32BE(4),
      };
    case toHost.stdinCredit:
      return { type: 'stdin_credit', bytes: payload.readUInt32BE(0) };
    case toHost.stdinClosed:
      return { type: 'stdin_closed' };
    case toHost.exit:
      return { type: 'exit', exit: exit(payload) };
    case toHost.fault:
      return { type: 'fault', fault: nameOf(faults, payload.readUInt8(0)) };
    case toHost.ahead:
      return { type: 'ahead', state: nameOf(aheadStates, payload.readUInt8(0)) };
    default:
      throw new InitError('protocol', `Init sent a frame of unknown type ${type}.`);
  }
}

function ready(payload: Buffer): InitFrame {
  const version = payload.readUInt16BE(0);
  if (version !== protocolVersion) {
    throw new InitError('protocol', `Init speaks version ${version}, and we speak ${protocolVersion}.`);
  }
  if (
    payload.readUInt32BE(4) !== limits.requestBytes ||
    payload.readUInt32BE(8) !== limits.stdinWindowBytes
  ) {
    throw new InitError('protocol', 'Init was built with other limits than ours.');
  }
  const prestart = nameOf(prestartNumbers, payload.readUInt16BE(2));
  return { type: 'ready', version, startsAhead: prestart !== 'none' };
}

function exit(payload: Buffer): InitExit {
  const how = payload.readUInt8(0);
  const value = payload.readUInt8(1);
  const flags = payload.readUInt8(2);
  const sources = payload.readUInt8(3);
  if (how > 1) throw new InitError('protocol', 'Init told an end that is neither an exit nor a signal.');
  return {
    end: how === 0 ? { kind: 'exited', code: value } : { kind: 'signaled', signal: value },
    alone: (flags & exitFlags.alone) !== 0,
    oomKills: sources & measured.oom ? payload.readUInt32BE(4) : undefined,
    wallMicros: Number(payload.readBigUInt64BE(8)),
    cpuMicros: sources & measured.cpu ? Number(payload.readBigUInt64BE(16)) : undefined,
    peakBytes: sources & measured.peak ? Number(payload.readBigUInt64BE(24)) : undefined,
    maxRssBytes: Number(payload.readBigUInt64BE(32)),
  };
}

function nameOf<Name extends string>(numbers: Readonly<Record<Name, number>>, wanted: number): Name {
  const names = Object.keys(numbers) as Name[];
  const name = names.find((candidate) => numbers[candidate] === wanted);
  if (name === undefined)
    throw new InitError('protocol', `Init sent a frame with an unknown number ${wanted}.`);
  return name;
}
