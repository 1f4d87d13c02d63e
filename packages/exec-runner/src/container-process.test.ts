import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { OutputChunk } from '@secbox/container-engine';
import { Directory } from '@secbox/workspace';
import { asContainerCommand, underInit, type Outputs } from './container-process.js';
import type { PlannedCommand } from './exec-command.js';
import { OutputFile } from './output-file.js';
import { Progress } from './progress.js';

let path: string;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'secbox-process-'));
});
afterEach(() => rm(path, { recursive: true }));

const frame = (type: number, payload: string) => {
  const head = Buffer.from(`Sb${String.fromCharCode(type)}\0\0\0\0${String.fromCharCode(payload.length)}`);
  return Buffer.concat([head, Buffer.from(payload, 'latin1')]);
};
const ready = frame(1, '\0\x01\0\0\0\x10\0\0\0\x01\0\0');
const started = frame(2, '\0\0\0\x02\0\0\0\0');
const exit = frame(8, '\0'.repeat(40));
const command = {
  command: 'true',
  args: [],
  cwd: '/',
  environment: {},
  stdin: '',
} as unknown as PlannedCommand;

async function* said(...data: readonly Buffer[]): AsyncGenerator<OutputChunk> {
  for (const each of data) yield await Promise.resolve({ stream: 'stdout', data: each } as const);
}

/** What a full disk does not take; settles `full` when it was tried. */
async function fullDisk() {
  const folder = Directory.open(path);
  let isFull: (error: unknown) => void = () => undefined;
  const full = new Promise((resolve) => (isFull = resolve));
  const create = async (name: string) => {
    const file = folder.createFile(name, 0o644);
    file.append = () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }));
    const cramped = { createFile: () => file } as unknown as Directory;
    return OutputFile.create(cramped, name, 100, new Progress(), isFull);
  };
  const outputs: Outputs = { stdout: await create('out'), stderr: await create('err') };
  return { folder, full, outputs };
}

describe.each([
  ['under an init', underInit, [ready, started, frame(4, 'out'), exit]],
  ['as that of its container', asContainerCommand, [Buffer.from('out')]],
])('a command %s does not wait for room for its output', (_how, processIn, output) => {
  test.each([
    ['when it is to end', false],
    ['when it was to end before it was asked for', true],
  ])('%s', async (_when, isEarly) => {
    const { folder, full, outputs } = await fullDisk();
    const attachment = {
      input: new PassThrough().resume(),
      output: said(...output),
      close: () => undefined,
    };
    const process = processIn(attachment);
    const early = isEarly ? process.kill() : undefined;
    const running = process.run(command, outputs);
    await full;
    await (early ?? process.kill());
    await running;
    expect(outputs.stdout.close()).toMatchObject({ size: 0, truncated: true });
    outputs.stderr.close();
    folder.close();
  });
});
