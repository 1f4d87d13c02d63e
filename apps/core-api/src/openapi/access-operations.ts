import { apiKeyListQuerySchema, securityEventQuerySchema } from '@secbox/contracts';
import { onePage, unavailable } from './common-answers.js';
import type { Operation } from './operation.js';

/** Keys, what happened at the door, and figures. */
export const accessOperations: readonly Operation[] = [
  {
    method: 'post',
    path: '/keys',
    id: 'createKey',
    tag: 'keys',
    summary: 'Make an API key, which is told this once',
    body: 'ApiKeyRequest',
    answers: { 201: { description: 'The key.', schema: 'NewApiKey' } },
    errors: {
      400: 'The request is not valid.',
      403: 'It names a tenant that the caller is not the administrator of.',
      413: 'The body is too large.',
      415: 'The body is not JSON.',
      ...unavailable,
    },
  },
  {
    method: 'get',
    path: '/keys',
    id: 'listKeys',
    tag: 'keys',
    summary: 'List the keys of a tenant, page by page',
    query: apiKeyListQuerySchema,
    answers: { 200: { description: 'One page, without the keys themselves.', schema: 'ApiKeyPage' } },
    errors: {
      400: 'A parameter is not valid.',
      403: 'It names a tenant that the caller is not the administrator of.',
      ...unavailable,
    },
  },
  {
    method: 'delete',
    path: '/keys/{key_id}',
    id: 'revokeKey',
    tag: 'keys',
    summary: 'Revoke a key, at once',
    answers: { 200: { description: 'The key as it is now.', schema: 'ApiKey' } },
    errors: { 400: 'The id is not one.', 404: 'There is no such key.', ...unavailable },
  },
  {
    method: 'get',
    path: '/audit/events',
    id: 'listEvents',
    tag: 'audit',
    summary: 'List what happened beside execs, newest first',
    query: securityEventQuerySchema,
    answers: onePage('SecurityEventPage'),
    errors: {
      400: 'A parameter is not valid.',
      403: 'It asks for the events of the whole installation.',
      ...unavailable,
      504: 'The database took too long.',
    },
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'getMetrics',
    tag: 'service',
    summary: 'Get figures of the running service, as Prometheus reads them',
    answers: { 200: { description: 'The figures.', types: ['text/plain'] } },
    errors: {},
  },
];
