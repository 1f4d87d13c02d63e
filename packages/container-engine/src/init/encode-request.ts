import { encodeFrame } from './encode-frame.js';
import { InitError } from './init-error.js';
import { limits, protocolVersion, requestFlags, type RlimitName, rlimitNumbers, toInit } from './protocol.js';

export interface InitRequest {
  /** The command and its arguments; without a slash the command is looked up on the PATH of `env`. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is inherited from the container's configuration. */
  readonly env: Readonly<Record<string, string>>;
  /** False: the command reads end of file at once. */
  readonly streamsStdin: boolean;
  readonly umask?: number;
  /** Set as soft and as hard limit. Core files are off whatever is asked. */
  readonly rlimits?: Readonly<Partial<Record<RlimitName, number>>>;
}

const fixedBytes = 16;
const rlimitBytes = 9;
const defaultUmask = 0o022;
const nul = '\0';
/** Would be encoded as a replacement character: another string than the one asked for. */
const loneSurrogate = /\p{Surrogate}/u;

/** One REQUEST frame. Fails with `bad_request` for what init would refuse; values are never in the message. */
export function encodeRequest(request: InitRequest): Buffer {
  const env = Object.entries(request.env);
  const rlimits = Object.entries(request.rlimits ?? {}) as [RlimitName, number][];
  const umask = request.umask ?? defaultUmask;
  check(request, env, rlimits, umask);

  const strings = [request.cwd, ...request.argv, ...env.map(([name, value]) => `${name}=${value}`)];
  const tail = Buffer.from(strings.map((text) => text + nul).join(''), 'utf8');
  const head = Buffer.alloc(fixedBytes + rlimits.length * rlimitBytes);
  if (head.length + tail.length > limits.requestBytes) {
    refuse(`it is ${head.length + tail.length} bytes long, and ${limits.requestBytes} is the limit`);
  }

  head.writeUInt16BE(protocolVersion, 0);
  head.writeUInt16BE(request.streamsStdin ? requestFlags.stdin : 0, 2);
  head.writeUInt16BE(umask, 4);
  head.writeUInt16BE(rlimits.length, 6);
  head.writeUInt32BE(request.argv.length, 8);
  head.writeUInt32BE(env.length, 12);
  rlimits.forEach(([name, value], index) => {
    head.writeUInt8(rlimitNumbers[name], fixedBytes + index * rlimitBytes);
    head.writeBigUInt64BE(BigInt(value), fixedBytes + index * rlimitBytes + 1);
  });
  return encodeFrame(toInit.request, Buffer.concat([head, tail]));
}

function check(
  request: InitRequest,
  env: readonly [string, string][],
  rlimits: readonly [RlimitName, number][],
  umask: number,
): void {
  if (request.argv.length === 0) refuse('argv is empty');
  if (request.argv.length > limits.argv) refuse(`argv has more than ${limits.argv} strings`);
  if (env.length > limits.env) refuse(`env has more than ${limits.env} variables`);
  if (rlimits.length > limits.rlimits) refuse(`there are more than ${limits.rlimits} rlimits`);
  if (!request.cwd.startsWith('/')) refuse('cwd is not absolute');
  checkText('cwd', request.cwd);
  for (const [index, argument] of request.argv.entries()) checkText(`argv[${index}]`, argument);
  for (const [name, value] of env) {
    if (name === '' || name.includes('=')) refuse('the name of a variable is empty or holds "="');
    checkText('the name of a variable', name);
    checkText(`env ${name}`, value);
  }
  if (!Number.isInteger(umask) || umask < 0 || umask > 0o777) refuse('umask is not within 0 and 0777');
  for (const [name, value] of rlimits) {
    if (!Object.hasOwn(rlimitNumbers, name)) refuse('there is an rlimit of unknown name');
    if (!Number.isSafeInteger(value) || value < 0) refuse(`rlimit ${name} is not a whole number`);
  }
}

function checkText(what: string, text: string): void {
  if (text.includes(nul)) refuse(`${what} holds a NUL`);
  if (loneSurrogate.test(text)) refuse(`${what} is not valid Unicode`);
}

function refuse(reason: string): never {
  throw new InitError('bad_request', `The request cannot be sent to init: ${reason}.`);
}
