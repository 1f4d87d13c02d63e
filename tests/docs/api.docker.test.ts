import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { startRunningService, type RunningService } from '../exec/running-service.js';
import { runCurl } from '../run-curl.js';

const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/```sh\n([^`]*)```\n\n```(json|text)\n(.*?)```/gs)].map(
  ([, command = '', kind, answer = '']) => ({
    title: command.split('\n')[0] ?? '',
    command,
    answer: kind === 'json' ? (JSON.parse(answer) as unknown) : answer,
  }),
);

let service: RunningService;
beforeAll(async () => {
  service = await startRunningService();
});
afterAll(() => service.close());

test('every call has an example; that of the event stream cannot be run alone', () => {
  const calls = page.match(/^## (GET|POST|PUT|DELETE) (?!.*\/events)/gm);
  expect(examples).toHaveLength(calls?.length ?? -1);
});

test.each(examples)('$title', async ({ command, answer }) => {
  const told = await runCurl(command.replaceAll('http://127.0.0.1:8003', service.url));
  expect(told).toEqual(expected(answer));
});

/** Figures that differ from run to run; `…` stands for any text, or for a value that is told elsewhere. */
const measured = /_ms$|_bytes$/;

function expected(value: unknown, key = ''): unknown {
  if (typeof value === 'number' && measured.test(key)) return expect.any(Number);
  if (value === '…') return expect.anything();
  if (typeof value === 'string' && value.includes('…')) {
    return expect.stringMatching(new RegExp(`^${value.split('…').map(escaped).join('.*')}$`));
  }
  if (Array.isArray(value)) return value.map((item) => expected(item));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, expected(child, name)]));
  }
  return value;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
