import { SecboxError } from '@secbox/contracts';
import type { Request } from 'express';
import { validatorOf } from './validate.js';

interface QuerySchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, { readonly type?: string }>>;
}

export type ReadQuery<T> = (request: Request) => T;

/** Reads the query of a URL as its schema says: unknown and repeated parameters are refused, numbers are numbers. */
export function queryReader<T>(schema: QuerySchema): ReadQuery<T> {
  const validate = validatorOf<T>(schema);
  return (request) => {
    const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, text] of new URL(request.url, 'http://localhost').searchParams) {
      if (name in values) {
        throw new SecboxError('invalid_request', `"${name}" is given more than once.`, {
          details: { field: name },
        });
      }
      const whole = schema.properties[name]?.type === 'integer' && /^\d{1,15}$/.test(text);
      values[name] = whole ? Number(text) : text;
    }
    return validate({ ...values });
  };
}
