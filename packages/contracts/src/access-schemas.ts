import { apiKeyRequestSchema } from './api-keys.js';
import { execIdPattern, namePattern } from './ids.js';
import { roles } from './roles.js';
import { securityEventTypes } from './security-events.js';

/** JSON Schemas of what the calls about keys and events answer. */

const text = { type: 'string' } as const;
const time = { type: 'string', format: 'date-time' } as const;
const orNull = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const uuid = { type: 'string', pattern: execIdPattern } as const;

const allOf = <Properties extends object>(properties: Properties) =>
  ({ type: 'object', additionalProperties: false, required: Object.keys(properties), properties }) as const;

const { user_patterns: patterns } = apiKeyRequestSchema.properties;

const keyProperties = {
  key_id: uuid,
  tenant: { type: 'string', pattern: namePattern },
  roles: { type: 'array', items: { type: 'string', enum: roles } },
  label: orNull(text),
  prefix: text,
  user_patterns: orNull(patterns),
  agent_patterns: orNull(patterns),
  created_at: time,
  created_by: orNull(text),
  expires_at: orNull(time),
  revoked_at: orNull(time),
  revoked_by: orNull(text),
  last_used_at: orNull(time),
} as const;

export const apiKeySchema = allOf(keyProperties);
export const newApiKeySchema = allOf({ ...keyProperties, key: text });

export const apiKeyPageSchema = allOf({
  keys: { type: 'array', items: { $ref: '#/components/schemas/ApiKey' } },
  next_cursor: orNull(text),
});

export const securityEventPageSchema = allOf({
  events: {
    type: 'array',
    items: allOf({
      event_id: uuid,
      type: { type: 'string', enum: securityEventTypes },
      tenant: orNull(text),
      actor: orNull(text),
      address: orNull(text),
      subject: orNull(text),
      details: { type: 'object' },
      at: time,
      count: { type: 'integer', minimum: 1 },
      last_at: time,
    }),
  },
  next_cursor: orNull(text),
});
