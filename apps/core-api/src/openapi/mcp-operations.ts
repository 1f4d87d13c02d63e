import type { Operation } from './operation.js';

const session = {
  'Mcp-Session-Id': { description: 'The session, as the answer to `initialize` names it.' },
} as const;
const stream = { description: 'Messages, as server-sent events.', types: ['text/event-stream'] } as const;

/** Skills as tools. What is in a message is the protocol's, which has clients of its own. */
export const mcpOperations: readonly Operation[] = [
  {
    method: 'post',
    path: '/mcp',
    id: 'postMcpMessage',
    tag: 'skills',
    summary: 'Send a message of the Model Context Protocol (streamable HTTP)',
    query: { properties: { tool_names: { type: 'string', enum: ['dots', 'underscores'], default: 'dots' } } },
    headers: {
      ...session,
      Accept: { description: '`application/json, text/event-stream`.' },
    },
    body: 'McpMessage',
    answers: { 200: stream, 202: { description: 'It takes no answer.', nothing: true } },
    errors: {
      400: 'It is no message of the protocol, or belongs to no session.',
      404: 'There is no such session of this key.',
      406: 'Both types of answers must be accepted.',
      413: 'The body is too large.',
      415: 'The body is not JSON.',
      429: 'There are too many sessions.',
      503: 'The database does not answer.',
    },
  },
  {
    method: 'get',
    path: '/mcp',
    id: 'followMcpSession',
    tag: 'skills',
    summary: 'Follow what a session is told unasked, such as that skills have changed',
    headers: session,
    answers: { 200: stream },
    errors: {
      400: 'It names no session.',
      404: 'There is no such session of this key.',
      406: 'An event stream must be accepted.',
      409: 'The session is followed already.',
    },
  },
  {
    method: 'delete',
    path: '/mcp',
    id: 'endMcpSession',
    tag: 'skills',
    summary: 'End a session; what it has begun goes on',
    headers: session,
    answers: { 200: { description: 'It is over.', nothing: true } },
    errors: { 400: 'It names no session.', 404: 'There is no such session of this key.' },
  },
];
