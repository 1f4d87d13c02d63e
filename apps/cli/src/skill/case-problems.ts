import {
  expandFiles,
  parseJson,
  SchemaCompiler,
  type JsonSchema,
  type SkillFile,
  type SkillProblem,
} from '@secbox/skill-manifest';

const casesFile = 'tests/cases.json';

/** Whether the examples of a skill fit what its manifest says that it takes, where that is known. */
export function caseProblems(takes: JsonSchema | undefined, files: readonly SkillFile[]): SkillProblem[] {
  const content = files.find(({ path }) => path === casesFile)?.content;
  if (!content) return [];
  const { json, problems } = parseJson(content, casesFile);
  if (!json) return [...problems];
  const problem = (pointer: string, message: string, expected?: string): SkillProblem => ({
    file: casesFile,
    pointer,
    ...json.locate(pointer),
    message,
    ...(expected === undefined ? {} : { expected }),
  });
  const cases = json.value;
  if (!Array.isArray(cases)) return [problem('', 'is not a list of {name, inputs, expect}')];
  const check = takes && new SchemaCompiler().compile(expandFiles(takes).schema, { fillDefaults: true });
  return cases.flatMap((each: unknown, index): SkillProblem[] => {
    const { name, inputs, expect } = (each ?? {}) as {
      readonly name?: unknown;
      readonly inputs?: unknown;
      readonly expect?: { readonly refused?: unknown } | null;
    };
    const at = `/${index}`;
    if (typeof name !== 'string' || typeof expect !== 'object' || expect === null) {
      return [problem(at, 'is no example', 'an object with name, inputs and expect')];
    }
    if (!check) return [];
    const [wrong] = check(structuredClone(inputs ?? {}));
    if (expect.refused === undefined) {
      return wrong ? [problem(`${at}/inputs${wrong.pointer}`, wrong.message, wrong.expected)] : [];
    }
    return wrong ? [] : [problem(`${at}/expect/refused`, 'expects that inputs are refused which are taken')];
  });
}
