import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { payloadLengths } from '../../packages/container-engine/src/init/decode-payload.js';
import {
  aheadStates,
  faults,
  headerBytes,
  limits,
  magic,
  prestartNumbers,
  protocolVersion,
  requestFlags,
  rlimitNumbers,
  startKinds,
  startSteps,
  toHost,
  toInit,
} from '../../packages/container-engine/src/init/protocol.js';

const root = join(import.meta.dirname, '../..');
const header = readFileSync(join(root, 'docker/sandbox/init/protocol.h'), 'utf8');
const document = readFileSync(join(root, 'docs/init-protocol.md'), 'utf8');

/** Every number that the C side defines. */
const defined: Record<string, number> = Object.fromEntries(
  [...header.matchAll(/^#define (\w+) (0x[0-9a-f]+|\d+|'.')$/gm)].map(([, name = '', value = '']) => [
    name,
    value.startsWith("'") ? value.charCodeAt(1) : Number(value),
  ]),
);

const upper = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
const prefixed = (prefix: string, numbers: Readonly<Record<string, number>>) =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) => [`${prefix}_${upper(name)}`, value]));

describe('the init protocol', () => {
  test('is the same in C and in TypeScript, to the last number', () => {
    const ours = {
      MAGIC_0: magic[0],
      MAGIC_1: magic[1],
      PROTOCOL_VERSION: protocolVersion,
      HEADER_BYTES: headerBytes,
      MAX_REQUEST_BYTES: limits.requestBytes,
      MAX_ARGV: limits.argv,
      MAX_ENV: limits.env,
      MAX_RLIMITS: limits.rlimits,
      MAX_DATA_BYTES: limits.dataBytes,
      STDIN_WINDOW_BYTES: limits.stdinWindowBytes,
      ...prefixed('FRAME', toHost),
      ...prefixed('FRAME', toInit),
      REQUEST_FIXED_BYTES: 16,
      RLIMIT_BYTES: 9,
      REQUEST_FLAG_STDIN: requestFlags.stdin,
      ...prefixed('LIMIT', rlimitNumbers),
      KILL_BYTES: 8,
      ...prefixed('PRESTART', prestartNumbers),
      ...prefixed('AHEAD_STATE', aheadStates),
      ...prefixed('START', startKinds),
      ...prefixed('STEP', startSteps),
      EXIT_BYTES: payloadLengths.get(toHost.exit),
      HOW_EXITED: 0,
      HOW_SIGNALED: 1,
      EXIT_FLAG_ALONE: 1,
      MEASURED_OOM: 1,
      MEASURED_CPU: 2,
      MEASURED_PEAK: 4,
      ...prefixed('FAULT', faults),
    };
    expect(ours).toEqual(defined);
  });

  test('is written down: every frame, step and fault with its number', () => {
    const rows = document.split('\n').filter((line) => line.startsWith('|'));
    const documented = (number: string, name: string) =>
      rows.some((row) => row.includes(`\`${number}\``) && row.includes(`\`${name}\``));
    const missing = [
      ...Object.entries({ ...toHost, ...toInit }).filter(
        ([name, type]) => !documented(`0x${type.toString(16).padStart(2, '0')}`, upper(name)),
      ),
      ...Object.entries(startSteps).filter(([name, step]) => !documented(String(step), name)),
      ...Object.entries(faults).filter(([name, fault]) => !documented(String(fault), name)),
      ...Object.entries(rlimitNumbers).filter(([name, limit]) => !documented(String(limit), name)),
    ];
    expect(missing).toEqual([]);
  });
});
