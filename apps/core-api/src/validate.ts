import { SecboxError } from '@secbox/contracts';
import { Ajv, type ErrorObject, type JSONSchemaType, type Schema } from 'ajv';

/** Turns a body into its type, or says of each wrong place where it is and what was expected there. */
export type Validate<T> = (body: unknown) => T;

const maxProblems = 20;

export function validatorOf<T>(schema: Schema | JSONSchemaType<T>): Validate<T> {
  const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
  const check = ajv.compile<T>(schema);
  return (body) => {
    if (check(body)) return body;
    const problems = (check.errors ?? []).slice(0, maxProblems).map(problemOf);
    const [first] = problems;
    throw new SecboxError(
      'invalid_request',
      `The request is not valid: ${first?.pointer || '/'} ${first?.message ?? 'is wrong'}.`,
      { details: { problems } },
    );
  };
}

function problemOf({ instancePath, message, params, keyword }: ErrorObject): {
  pointer: string;
  message: string;
} {
  const found = params as { additionalProperty?: string; allowedValues?: unknown[] };
  if (keyword === 'additionalProperties') {
    return {
      pointer: instancePath,
      message: `must not have the key ${JSON.stringify(found.additionalProperty)}`,
    };
  }
  if (keyword === 'enum') {
    return { pointer: instancePath, message: `must be one of ${JSON.stringify(found.allowedValues)}` };
  }
  return { pointer: instancePath, message: message ?? keyword };
}
