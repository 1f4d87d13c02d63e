import { expect, test } from '@jest/globals';
import type { OpenedFile } from '@secbox/audit';
import { SecboxError, type ErrorCode, type ExecAnswer } from '@secbox/contracts';
import { answerInvocation, type AnswerSource, type InvocationRecord } from './invocation-answer.js';

const record = {
  exec_id: '2c1e9a40-0a53-4d0e-9a44-1f0d5c1f6f11',
  status: 'succeeded',
  output_error: null,
} as InvocationRecord;

/** A text, or why there is none. */
type Left = { readonly text: string } | ErrorCode;

function open(left: Left): Promise<OpenedFile> {
  if (typeof left === 'string') return Promise.reject(new SecboxError(left, 'It is not to be had.'));
  const bytes = Buffer.from(left.text);
  const file = { read: (into: Buffer) => Promise.resolve(bytes.copy(into)), close: () => undefined };
  return Promise.resolve({ file, size: bytes.length } as unknown as OpenedFile);
}

async function outputOf(file: Left, stdout: Left, outputs?: object): Promise<unknown> {
  const source: AnswerSource = {
    answer: () => ({ stdout: '', stderr: '' }) as ExecAnswer,
    openFile: () => open(file),
    openStream: () => open(stdout),
  };
  return (await answerInvocation(record, { source, outputs: outputs as never })).output;
}

const words = { type: 'string' };

test('an output is the file, else what was printed', async () => {
  expect(await outputOf({ text: '[1]' }, { text: 'words' }, {})).toEqual([1]);
  expect(await outputOf('artifact_not_found', { text: 'words' }, words)).toBe('words');
  expect(await outputOf('artifact_not_found', { text: 'words' })).toBe('words');
});

test.each([words, undefined])('what was removed is no output, by %j', async (outputs) => {
  expect(await outputOf('artifact_gone', 'artifact_gone', outputs)).toBeNull();
  expect(await outputOf('artifact_not_found', 'artifact_gone', outputs)).toBeNull();
});

test('a file that is not what was recorded is not replaced by what was printed', async () => {
  expect(await outputOf('artifact_changed', { text: 'words' }, words)).toBeNull();
});

test('what went wrong otherwise is told', async () => {
  await expect(outputOf('internal_error', { text: 'words' }, words)).rejects.toThrow('not to be had');
});
