import { readFileSync } from 'node:fs';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import {
  checkManifestLimits,
  type EngineCapacity,
  type PolicyOverrides,
  type PolicySettings,
} from '@secbox/policy';
import { checkInterface, type InterfaceProblem } from './check-interface.js';
import { describeErrors } from './describe-error.js';
import { expandFiles } from './file-inputs.js';
import { manifestName, type JsonSchema, type SkillManifest } from './manifest.js';
import { nearest } from './nearest.js';
import { parseJson, type LocatedJson, type Place } from './parse-json.js';
import { pathOf, shown, type SkillProblem } from './problem.js';
import { SchemaCompiler } from './schema-compiler.js';
import { isObject } from './schema-keywords.js';

/** What a manifest is checked against beside its form. */
export interface ManifestContext {
  /** The name of the folder that it lies in. */
  readonly folder: string;
  /** The files beside it, by their paths. */
  readonly files: ReadonlySet<string>;
  /** The names of the images that skills may run in. */
  readonly images: readonly string[];
}

/** What limits may not go past. */
export interface LimitsContext {
  readonly engine: EngineCapacity | undefined;
  readonly settings?: PolicySettings | undefined;
}

/** What can be looked at further, whatever is wrong with the rest. */
export interface FittingParts {
  readonly inputs?: JsonSchema | undefined;
  readonly outputs?: JsonSchema | undefined;
  readonly limits?: PolicyOverrides | undefined;
}

export type CheckedManifest = { readonly fitting: FittingParts } & (
  | { readonly manifest: SkillManifest; readonly problems: readonly [] }
  | { readonly manifest?: undefined; readonly problems: readonly SkillProblem[] }
);

/** The longest that a manifest can be. */
export const maxManifestBytes = 256 * 1024;
const mostProblems = 50;
/** From the sources as from the compiled files, the repository's own. */
const schemaPath = new URL('../../../skills/_schema/manifest.schema.json', import.meta.url);

export class ManifestChecker {
  readonly #validate: ValidateFunction<SkillManifest>;

  constructor(schema: JsonSchema = JSON.parse(readFileSync(schemaPath, 'utf8')) as JsonSchema) {
    const ajv = new Ajv2020({ allErrors: true, verbose: true, strict: false, validateFormats: false });
    this.#validate = ajv.compile<SkillManifest>(schema);
  }

  /** Everything that is wrong with it, whatever Settings say. */
  check(bytes: Buffer, context: ManifestContext): CheckedManifest {
    if (bytes.length > maxManifestBytes) {
      return { fitting: {}, problems: [tooLong(bytes.length)] };
    }
    const { json, problems } = parseJson(bytes, manifestName);
    if (!json) return { fitting: {}, problems };
    const errors = this.#validate(json.value) ? [] : (this.#validate.errors ?? []);
    const { inputs, outputs, limits, ...parts } = partsThatFit(json.value, errors);
    const ofInputs = inputs ? checkInterface(inputs, 'inputs') : [];
    const ofOutputs = outputs ? checkInterface(outputs, 'outputs') : [];
    const found = [
      ...describeErrors(errors, mostProblems),
      ...identityProblems(parts, context),
      ...ofInputs,
      ...ofOutputs,
      ...runtimeProblems(parts, context),
    ];
    const fitting = {
      limits,
      ...(ofInputs.length === 0 && { inputs }),
      ...(ofOutputs.length === 0 && { outputs }),
    };
    if (found.length === 0) return { fitting, manifest: json.value as SkillManifest, problems: [] };
    return { fitting, problems: found.slice(0, mostProblems).map(locatorOf(json)) };
  }

  /** What Settings have against a manifest that is fine otherwise; ask again when they change. */
  checkLimits(bytes: Buffer, limits: PolicyOverrides, under: LimitsContext): SkillProblem[] {
    const problems = checkManifestLimits(limits, under);
    return located(
      bytes,
      problems.map((problem) => ({
        pointer: problem.pointer,
        message: problem.message,
        ...('ceiling' in problem && {
          found: shown(problem.asked),
          expected: `at most ${String(problem.ceiling)}`,
        }),
      })),
    );
  }

  /** Whether its schemas can be compiled; authors wait for that, while a registry trusts {@link checkInterface}. */
  checkCompiling(bytes: Buffer, { inputs, outputs }: FittingParts): SkillProblem[] {
    const compiler = new SchemaCompiler();
    const schemas = { inputs: inputs && expandFiles(inputs).schema, outputs };
    const problems = Object.entries(schemas).flatMap(([which, schema]): InterfaceProblem[] => {
      try {
        if (schema) compiler.compile(schema);
        return [];
      } catch (error) {
        const found = error instanceof Error ? error.message : String(error);
        const expected = 'a schema that values can be checked by';
        return [{ pointer: `/interface/${which}`, message: 'cannot be compiled', found, expected }];
      }
    });
    return located(bytes, problems);
  }
}

function located(bytes: Buffer, problems: readonly InterfaceProblem[]): SkillProblem[] {
  if (problems.length === 0) return [];
  const { json } = parseJson(bytes, manifestName);
  const nowhere = { file: manifestName, line: null, column: null };
  return problems.map(json ? locatorOf(json) : (problem) => ({ ...nowhere, ...problem }));
}

function locatorOf(json: LocatedJson) {
  return ({ place = 'value', ...problem }: InterfaceProblem & { readonly place?: Place }): SkillProblem => ({
    file: manifestName,
    ...problem,
    ...json.locate(problem.pointer, place),
  });
}

function tooLong(bytes: number): SkillProblem {
  return {
    file: manifestName,
    pointer: '',
    line: 1,
    column: 1,
    message: `has more than ${maxManifestBytes} bytes`,
    found: `${bytes} bytes`,
    expected: `at most ${maxManifestBytes} bytes`,
  };
}

interface Parts extends Required<FittingParts> {
  readonly id: string | undefined;
  readonly image: string | undefined;
  readonly entrypoint: readonly string[] | undefined;
}

/** Those of which the form is right: an author is told all at once, not bit by bit. */
function partsThatFit(manifest: unknown, errors: readonly ErrorObject[]): Parts {
  const fits = (pointer: string) =>
    !errors.some(({ instancePath: at }) => at === pointer || at.startsWith(`${pointer}/`));
  const part = (pointer: string): unknown => {
    let found = manifest;
    for (const key of pathOf(pointer)) found = isObject(found) ? found[key] : undefined;
    return fits(pointer) ? found : undefined;
  };
  return {
    id: part('/id'),
    inputs: part('/interface/inputs'),
    outputs: part('/interface/outputs'),
    image: part('/runtime/image'),
    entrypoint: part('/runtime/entrypoint'),
    limits: part('/limits'),
  } as Parts;
}

function identityProblems({ id }: Pick<Parts, 'id'>, { folder }: ManifestContext): InterfaceProblem[] {
  if (id === undefined || id === folder) return [];
  return [
    {
      pointer: '/id',
      message: 'is not the name of the folder',
      found: shown(id),
      expected: shown(folder),
    },
  ];
}

function* runtimeProblems(
  { image, entrypoint = [] }: Pick<Parts, 'image' | 'entrypoint'>,
  { images, files }: ManifestContext,
): Generator<InterfaceProblem> {
  if (image !== undefined && !images.includes(image)) {
    const suggestion = nearest(image, images);
    yield {
      pointer: '/runtime/image',
      message: 'is not an allowed image',
      found: shown(image),
      expected: `one of ${images.join(', ')}`,
      ...(suggestion === undefined ? {} : { suggestion }),
    };
  }
  for (const [index, argument] of entrypoint.entries()) {
    if (!argument.startsWith('./') || files.has(argument.slice(2))) continue;
    const suggestion = nearest(argument.slice(2), files);
    yield {
      pointer: `/runtime/entrypoint/${index}`,
      message: 'is not a file of the skill',
      found: shown(argument),
      expected: 'the path of a file in the folder, not of its tests or README.md',
      ...(suggestion === undefined ? {} : { suggestion: `./${suggestion}` }),
    };
  }
}
