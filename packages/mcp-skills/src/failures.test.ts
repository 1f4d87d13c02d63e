import { expect, test } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { protocolError, tellFailedCall } from './failures.js';

test('what a caller can mend is a result that says everything that is wrong', () => {
  const problems = [
    { pointer: '/inputs/limit', message: 'is too small', expected: 'at least 1' },
    { pointer: '/inputs', message: '"fitler" is not a known key', suggestion: 'filter' },
  ];
  const result = tellFailedCall(new SecboxError('invalid_input', 'Not valid.', { details: { problems } }));
  expect(result).toMatchObject({ isError: true, _meta: { 'secbox/error': { kind: 'invalid' } } });
  expect(result.content).toEqual([
    {
      type: 'text',
      text: [
        'invalid_input: Not valid.',
        '- /inputs/limit is too small (expected at least 1)',
        '- /inputs "fitler" is not a known key (did you mean filter?)',
      ].join('\n'),
    },
  ]);
});

test('what it cannot is an error of the protocol, and what it is not meant to know is not told', () => {
  expect(() => tellFailedCall(new SecboxError('unauthenticated', 'Send a key.'))).toThrow(
    expect.objectContaining({ code: -32600 }),
  );
  expect(() => tellFailedCall(new Error('secret path'))).toThrow(
    expect.objectContaining({ code: -32603, message: expect.not.stringContaining('secret') }),
  );
  expect(protocolError(new SecboxError('artifact_not_found', 'None.'))).toMatchObject({ code: -32602 });
  expect(protocolError(new SecboxError('file_too_large', 'Large.'))).toMatchObject({
    code: -32600,
    data: { code: 'file_too_large' },
  });
});
