import { executeQuerySchema } from '@secbox/contracts';
import type { Operation } from './operation.js';

const execute = {
  method: 'post',
  query: executeQuerySchema,
  headers: {
    Prefer: { description: '`respond-async` answers at once, `wait=N` after N seconds at the latest.' },
    'Idempotency-Key': { description: 'The same request under the same key is one exec.' },
  },
  body: 'ExecuteArguments',
  answers: {
    200: { description: 'It is over; `exit_code` tells how.', schema: 'ExecutedCommand' },
    202: { description: 'It is under way.', schema: 'ExecutedCommand' },
  },
} as const;

const errors = {
  400: 'An id, the command or an argument is not valid.',
  403: 'The command is not on the list, an argument leads elsewhere, or the key is for other users.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'The key was used for another request.',
  429: 'Too many execs wait already.',
  503: 'The engine or the database does not answer.',
} as const;

/** Commands in layered skills and general sandboxes. */
export const executeOperations: readonly Operation[] = [
  {
    ...execute,
    tag: 'layers',
    path: '/v1/skills/{userId}/{agentId}/{skillId}/execute',
    id: 'executeInSkill',
    summary: "Run a command in a user's view of a skill",
    errors: { ...errors, 404: 'The user has no such skill.' },
  },
  {
    ...execute,
    tag: 'sandboxes',
    path: '/v1/sandbox/{userId}/{agentId}/execute',
    id: 'executeInSandbox',
    summary: "Run a command in a user's general sandbox",
    errors,
  },
];
