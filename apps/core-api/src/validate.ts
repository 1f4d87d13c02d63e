import { SecboxError } from '@secbox/contracts';
import { Ajv, type ErrorObject, type JSONSchemaType, type Schema } from 'ajv';

/** Turns a body into its type, or says of each wrong place where it is and what was expected there. */
export type Validate<T> = (body: unknown) => T;

const maxProblems = 20;
/** Values of a body whose problems are all told; of a larger one the first is. */
const smallBody = 5000;

export function validatorOf<T>(schema: Schema | JSONSchemaType<T>): Validate<T> {
  const options = { strict: true, strictRequired: false, allowUnionTypes: true };
  const check = new Ajv(options).compile<T>(schema);
  const checkAll = new Ajv({ ...options, allErrors: true }).compile<T>(schema);
  return (body) => {
    if (check(body)) return body;
    let { errors } = check;
    // Each problem of a large body would cost more than the body itself.
    if (isSmall(body) && !checkAll(body)) ({ errors } = checkAll);
    const problems = (errors ?? []).slice(0, maxProblems).map(problemOf);
    const [first] = problems;
    throw new SecboxError(
      'invalid_request',
      `The request is not valid: ${first?.pointer || '/'} ${first?.message ?? 'is wrong'}.`,
      { details: { problems } },
    );
  };
}

function isSmall(body: unknown): boolean {
  const values = [body];
  for (const value of values) {
    if (typeof value !== 'object' || value === null) continue;
    const inside = Object.values(value) as unknown[];
    if (values.length + inside.length > smallBody) return false;
    values.push(...inside);
  }
  return true;
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
