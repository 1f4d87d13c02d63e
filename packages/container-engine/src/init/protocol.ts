/** The wire format of secbox-init: a mirror of docker/sandbox/init/protocol.h (docs/init-protocol.md). */

export const protocolVersion = 1;
export const headerBytes = 8;
/** The first bytes of every frame. */
export const magic = Buffer.from('Sb', 'latin1');

export const limits = {
  requestBytes: 1024 * 1024,
  argv: 4096,
  env: 4096,
  rlimits: 8,
  /** The payload of one stdout or stderr frame. */
  dataBytes: 64 * 1024,
  /** What may be on its way to the command's stdin; init gives credit back as the command reads. */
  stdinWindowBytes: 64 * 1024,
} as const;

export const toHost = {
  ready: 0x01,
  started: 0x02,
  failed: 0x03,
  stdout: 0x04,
  stderr: 0x05,
  stdinCredit: 0x06,
  stdinClosed: 0x07,
  exit: 0x08,
  fault: 0x09,
  ahead: 0x0a,
} as const;

export const toInit = {
  request: 0x81,
  stdin: 0x82,
  stdinEnd: 0x83,
  kill: 0x84,
  clear: 0x85,
} as const;

export const requestFlags = { stdin: 0x0001 } as const;

/** What an init starts ahead of its request. */
export const prestartNumbers = { none: 0, python: 1 } as const;

/** What became of that before the request came. */
export const aheadStates = { up: 1, lost: 2 } as const;
export type AheadState = keyof typeof aheadStates;

/** How the command was started: as a new process, or by what had been started ahead. */
export const startKinds = { plain: 0, ahead: 1 } as const;
export type StartKind = keyof typeof startKinds;

export const rlimitNumbers = { nofile: 1, fsize: 2, cpu: 3, as: 4, stack: 5 } as const;
export type RlimitName = keyof typeof rlimitNumbers;

/** Which step of starting the command failed; `interpreter`: the file exists, what it needs to run does not. */
export const startSteps = {
  descriptors: 1,
  fork: 2,
  limits: 3,
  chdir: 4,
  exec: 5,
  interpreter: 6,
  shield: 7,
} as const;
export type StartStep = keyof typeof startSteps;

/** What init found wrong in the frames that we sent. */
export const faults = {
  magic: 1,
  type: 2,
  length: 3,
  order: 4,
  request: 5,
  window: 6,
  kill: 7,
} as const;
export type FaultName = keyof typeof faults;
