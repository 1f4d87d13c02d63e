import { afterEach, expect, test } from '@jest/globals';
import { createLogger } from '@secbox/logging';
import { openRiskAssessor, type RiskAssessor, type RiskAssessorOptions } from '@secbox/risk';
import { PassThrough } from 'node:stream';
import { neededWord } from './needed-word.js';

const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough() });
const opened: RiskAssessor[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

function assessor(options: Partial<RiskAssessorOptions> = {}): RiskAssessor {
  const made = openRiskAssessor({ logger, deadlineMs: 20_000, ...options });
  opened.push(made);
  return made;
}

const python = (code: string) => ({
  argv: ['python', '-c', code],
  files: new Map<string, string>(),
  modules: [],
  stdin: '',
  unseen: [],
});
const fromCritical = { always: undefined, fromLevel: 'CRITICAL' } as const;
const harmless = 'x = [1, 2, 3]\n';

test.each<[string, Partial<RiskAssessorOptions>, string]>([
  ['takes too long to look at', { deadlineMs: 1 }, harmless.repeat(20_000)],
  ['is larger than what is looked at', { maxBytes: 1000 }, harmless.repeat(100)],
  ['does not parse', {}, 'def f(:\n'],
])('code that %s is held, whatever the level from which on Settings ask', async (_, options, code) => {
  const needed = await neededWord(fromCritical, python(code), assessor(options));
  expect(needed).toMatchObject({
    because: 'It could not be looked at to its end, and Settings ask from CRITICAL on.',
    risk: { level: 'MEDIUM', complete: false },
  });
});

test('code that nobody can look at any more is held', async () => {
  const closed = assessor();
  await closed.close();
  expect((await neededWord(fromCritical, python(harmless), closed))?.risk.complete).toBe(false);
});

test('code that was looked at is held from the level on, and not below', async () => {
  const made = assessor();
  expect(await neededWord(fromCritical, python(harmless), made)).toBeUndefined();
  expect(await neededWord(fromCritical, python('import socket; socket.socket()'), made)).toBeUndefined();
  const ruinous = await neededWord(fromCritical, python('import shutil; shutil.rmtree("/")'), made);
  expect(ruinous?.because).toBe('It looks CRITICAL, and Settings ask for it from CRITICAL on.');
});

test('where Settings ask for no level, what could not be looked at is not held for that', async () => {
  const nothing = { always: undefined, fromLevel: undefined };
  expect(await neededWord(nothing, python('def f(:'), assessor())).toBeUndefined();
  const always = { always: 'The manifest asks for it.', fromLevel: undefined };
  expect((await neededWord(always, python('def f(:'), assessor()))?.because).toBe(
    'The manifest asks for it.',
  );
});

test('what a command may load is looked at as well, and told with its file', async () => {
  const file = '/workspace/inputs/json.py';
  const files = new Map([[file, '\nimport shutil; shutil.rmtree("/")']]);
  const loads = { ...python('import json'), files, modules: [file] };
  expect(await neededWord(fromCritical, loads, assessor())).toMatchObject({
    because: 'It looks CRITICAL, and Settings ask for it from CRITICAL on.',
    risk: { level: 'CRITICAL', findings: [{ file, line: 2 }] },
  });
  expect(await neededWord(fromCritical, { ...loads, modules: [] }, assessor())).toBeUndefined();
});

test('what decides what runs, and nobody can look at, has it held', async () => {
  const led = { ...python(harmless), unseen: ['what PYTHONPATH brings in'] };
  expect(await neededWord(fromCritical, led, assessor())).toMatchObject({
    because: 'Nobody can look at what PYTHONPATH brings in, and Settings ask from CRITICAL on.',
    risk: { level: 'SAFE', complete: false },
  });
});

test('what is found on stdin is not quoted, and what is found in the command is', async () => {
  const always = { always: 'A test asks for it.', fromLevel: undefined };
  const script = { ...python(''), argv: ['bash', '-s'], stdin: 'rm -rf / # secret' };
  const sent = await neededWord(always, script, assessor());
  expect(sent?.risk.findings.length).toBeGreaterThan(0);
  expect(JSON.stringify(sent)).not.toContain('secret');
  const named = { ...python('import shutil; shutil.rmtree("/")'), stdin: 'a secret' };
  const shown = await neededWord(always, named, assessor());
  expect(shown?.risk.findings).toContainEqual(
    expect.objectContaining({ excerpt: expect.stringContaining('shutil.rmtree("/")') }),
  );
});
