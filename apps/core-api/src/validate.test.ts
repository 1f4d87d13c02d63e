import { expect, test } from '@jest/globals';
import { execRequestSchema } from '@secbox/contracts';
import { validatorOf } from './validate.js';

const validate = validatorOf(execRequestSchema);
const problemsOf = (body: unknown) => {
  try {
    validate(body);
  } catch (error) {
    return (error as { details: { problems: { pointer: string; message: string }[] } }).details.problems;
  }
  return [];
};
const bodyWith = (args: readonly unknown[]) => ({ exec: { kind: 'shell', command: 'bash', args } });

test('all problems of a small body are told', () => {
  expect(problemsOf({ exec: { kind: 'x', command: 1 } }).map(({ pointer }) => pointer)).toEqual([
    '/exec',
    '/exec/kind',
    '/exec/command',
  ]);
  expect(problemsOf(bodyWith([1, 2, 'a', 3])).map(({ pointer }) => pointer)).toEqual([
    '/exec/args/0',
    '/exec/args/1',
    '/exec/args/3',
  ]);
});

test('of a large one the first is, so that checking it costs no more than reading it', () => {
  expect(problemsOf(bodyWith(Array.from({ length: 50_000 }, () => 0)))).toEqual([
    { pointer: '/exec/args', message: 'must NOT have more than 1024 items' },
  ]);
});
