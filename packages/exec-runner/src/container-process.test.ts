import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
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

test.each([
  ['under an init', underInit, [ready, started, frame(4, 'out'), exit]],
  ['as that of its container', asContainerCommand, [Buffer.from('out')]],
])('a command %s that is to end does not wait for room for its output', async (_how, processIn, output) => {
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
  const attachment = { input: new PassThrough().resume(), output: said(...output), close: () => undefined };
  const process = processIn(attachment);
  const running = process.run(command, outputs);
  await full;
  await process.kill();
  await running;
  expect(outputs.stdout.close()).toMatchObject({ size: 0, truncated: true });
  outputs.stderr.close();
  folder.close();
});
