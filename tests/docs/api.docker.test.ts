import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { roles } from '@secbox/contracts';
import { startKeyedService, type KeyedService } from '../access/keyed-service.js';
import { askByCurl } from '../run-curl.js';
import { skillZip } from '../v1/v1-calls.js';
import { apiPages, isCall } from './api-pages.js';
import { expectedOf, variablesOf } from './documented-answer.js';

/** The files that the pages tell the reader to have. */
const files = {
  'prices.csv': 'price\n19\n23\n',
  'weather.zip': skillZip('weather', {
    'SKILL.md': '---\nname: Weather\ndescription: Tells the weather of a city.\n---\n',
    'main.py': 'print("sunny")\n',
  }),
};

/** A page is for itself: its examples follow on each other, on a server that nobody has used before. */
describe.each(apiPages)('$path', ({ sections }) => {
  const variables: Record<string, string> = {};
  let service: KeyedService;
  beforeAll(async () => {
    service = await startKeyedService();
    variables['SECBOX_KEY'] = (await service.makeKey('default', roles)).key;
  });
  afterAll(() => service.close());

  const withExamples = sections.filter(({ examples }) => examples.length > 0);
  test.each(withExamples)('$title', async ({ title, examples }) => {
    const answeredWell: string[] = [];
    for (const { command, answer } of examples) {
      const line = command.replaceAll('http://127.0.0.1:8003', service.url);
      const { method, path, status, printed } = await askByCurl(line, { files, variables });
      expect(typeof printed === 'string' ? printed.trimEnd() : printed).toEqual(expectedOf(answer));
      Object.assign(variables, variablesOf(printed, answer));
      if (status < 400) answeredWell.push(`${method} ${path}`);
    }
    if (isCall(title)) expect(answeredWell).toContainEqual(expect.stringMatching(requestsOf(title)));
  });
});

function requestsOf(call: string): RegExp {
  const pattern = call
    .replaceAll('.', '\\.')
    .replace(/\{path\}$/, '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  return new RegExp(`^${pattern}$`);
}
