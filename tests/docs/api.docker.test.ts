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

/** The file that the page tells the reader to have. */
const files = { 'prices.csv': 'price\n19\n23\n' };

test('every call has an example; of the event stream it is not JSON', () => {
  const calls = page
    .split(/^(?=## )/m)
    .filter((part) => /^## (GET|POST|PUT|DELETE) (?!.*\/events)/.test(part));
  expect(calls.length).toBeGreaterThan(5);
  for (const call of calls) expect(call).toMatch(/```sh\n.*?```\n\n```(json|text)\n/s);
});

test.each(examples)('$title', async ({ command, answer }) => {
  const told = await runCurl(command.replaceAll('http://127.0.0.1:8003', service.url), files);
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
    const { '…': more, ...fields } = value as Readonly<Record<string, unknown>>;
    const told = Object.fromEntries(
      Object.entries(fields).map(([name, child]) => [name, expected(child, name)]),
    );
    return more === undefined ? told : expect.objectContaining(told);
  }
  return value;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
