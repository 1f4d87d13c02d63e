import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { CallProgress, type Progress } from './call-progress.js';

let told: Progress[];
let progress: CallProgress;
beforeEach(() => {
  jest.useFakeTimers();
  told = [];
  progress = new CallProgress({ send: (each) => told.push(each) });
});
afterEach(() => {
  progress.end();
  jest.useRealTimers();
});

const messages = () => told.map(({ message }) => message);
const print = (text: string) => progress.report({ type: 'stdout', data: Buffer.from(text) });

test('states are told at once, and numbers grow', () => {
  progress.report({ type: 'state', status: 'queued' });
  progress.report({ type: 'state', status: 'running' });
  expect(messages()).toEqual(['queued', 'running']);
  expect(told[1]?.progress).toBeGreaterThan(told[0]?.progress ?? Infinity);
});

test('of output the last line, cleaned and not too often', () => {
  for (let n = 0; n < 1000; n += 1) print(`line ${n}\n`);
  jest.advanceTimersByTime(250);
  print('\u001b[31mred\u0000\n\n');
  print('x'.repeat(1000));
  jest.advanceTimersByTime(250);
  expect(messages()).toEqual(['line 999', 'x'.repeat(200)]);
  print('\u001b[31mred\n \n');
  jest.advanceTimersByTime(250);
  expect(messages().at(-1)).toBe('[31mred');
});

test('that it is still at it, and nothing after the end', () => {
  progress.report({ type: 'state', status: 'running' });
  jest.advanceTimersByTime(10_000);
  expect(messages()).toEqual(['running', 'running', 'running']);
  print('late\n');
  progress.end();
  jest.advanceTimersByTime(60_000);
  expect(told).toHaveLength(3);
});
