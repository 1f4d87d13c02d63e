import { expect, test } from '@jest/globals';
import { expectedOf, variablesOf } from './documented-answer.js';

test.each<[string, unknown, unknown]>([
  ['a field that is not there', { a: 1, b: 2 }, { a: 1 }],
  ['a field that is not told of', { a: 1 }, { a: 1, b: 2 }],
  ['another value', { a: 1 }, { a: 2 }],
  ['null in place of a value', { a: '…' }, { a: null }],
  ['more of a list', [1], [1, 2]],
  ['another list that goes on', [1, '…'], [2, 3]],
  ['text around what may differ', 'a…c', 'abd'],
  ['a line that is not there', 'a\n…\nc', 'a\nb'],
])('%s is not as documented', (_, documented, told) => {
  expect(told).not.toEqual(expectedOf(documented));
});

test('what is left out may be anything', () => {
  const documented = { id: '…', took_ms: 3, list: [1, '…'], url: '/x/…/y', text: 'a\n…\nd', '…': '…' };
  const told = { id: 'i', took_ms: 9, list: [1, 2], url: '/x/i/y', text: 'a\nb\nc\nd', more: true };
  expect(told).toEqual(expectedOf(documented));
});

test('what is shown can be used by the next example, and nothing else', () => {
  const told = { exec_id: 'a', list: [{ exec_id: 'b', version: 'v' }], hidden: 'h', count: 1 };
  const documented = { exec_id: '…', list: [{ exec_id: '…', version: '…' }], count: 1, '…': '…' };
  expect(variablesOf(told, documented)).toEqual({ EXEC_ID: 'a', VERSION: 'v' });
});

test('so can a header that is shown', () => {
  const told = 'HTTP/1.1 200 OK\ndate: now\nmcp-session-id: s-1\n\nx';
  expect(variablesOf(told, 'HTTP/1.1 200 OK\n…\nmcp-session-id: …\n…')).toEqual({ MCP_SESSION_ID: 's-1' });
});
