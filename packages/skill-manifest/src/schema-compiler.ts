import { createContext, Script, type Context } from 'node:vm';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describeErrors, type ValueProblem } from './describe-error.js';
import type { JsonSchema } from './manifest.js';

/** Everything that is wrong with a value; nothing when it fits. */
export type ValueCheck = (value: unknown) => readonly Omit<ValueProblem, 'place'>[];

export interface CompileOptions {
  /** Writes the schema's defaults into the value. */
  readonly fillDefaults?: boolean;
}

const mostProblems = 20;
/** A pattern of a careless author can take for ever on the right text. */
const checkMs = 1000;

/**
 * Turns schemas of manifests into checks. Both schema and value are someone else's, so that a check has a
 * deadline, which ends even a regular expression that does not come to an end.
 */
export class SchemaCompiler {
  readonly #plain = newAjv(false);
  readonly #filling = newAjv(true);
  readonly #deadline = new Deadline(checkMs);

  /** Throws when the schema cannot be used, which {@link checkInterface} would have said. */
  compile(schema: JsonSchema, { fillDefaults = false }: CompileOptions = {}): ValueCheck {
    const ajv = fillDefaults ? this.#filling : this.#plain;
    const validate = ajv.compile(schema);
    // It keeps every schema it has seen; whoever has the check has what is needed of it.
    ajv.removeSchema(schema);
    return (value) => {
      try {
        if (this.#deadline.run(() => validate(value))) return [];
      } catch (error) {
        return [{ pointer: '', message: `could not be checked: ${reasonOf(error)}` }];
      }
      return describeErrors(validate.errors ?? [], mostProblems).map(({ place: _, ...problem }) => problem);
    };
  }
}

function newAjv(useDefaults: boolean): Ajv2020 {
  return new Ajv2020({
    allErrors: true,
    verbose: true,
    // The manifest was checked when it was loaded, and more strictly.
    strict: false,
    validateSchema: false,
    addUsedSchema: false,
    validateFormats: false,
    logger: false,
    useDefaults,
  });
}

function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
    return `it took longer than ${checkMs} ms`;
  }
  return error instanceof RangeError ? 'it is nested too deep' : 'the schema does not come to an end';
}

class Deadline {
  readonly #context: Context;
  readonly #holder: { work: () => boolean } = { work: () => false };
  readonly #call = new Script('holder.work()');

  constructor(private readonly ms: number) {
    this.#context = createContext({ holder: this.#holder });
  }

  run(work: () => boolean): boolean {
    this.#holder.work = work;
    return this.#call.runInContext(this.#context, { timeout: this.ms }) as boolean;
  }
}
