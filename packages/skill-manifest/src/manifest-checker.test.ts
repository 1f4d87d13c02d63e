import { describe, expect, test } from '@jest/globals';
import { limitFields } from '@secbox/contracts';
import { hardCeilings, limitForms } from '@secbox/policy';
import { readFileSync } from 'node:fs';
import { ManifestChecker, maxManifestBytes } from './manifest-checker.js';
import { longestSkillId, skillIdPattern } from './manifest.js';
import type { SkillProblem } from './problem.js';

const valid = {
  schema_version: 1,
  id: 'json.query',
  name: 'JSON query',
  description: 'Asks a JSON document with jq.',
  interface: {
    inputs: { type: 'object', properties: { file: { 'x-secbox': 'file' } } },
    outputs: { type: 'object' },
  },
  runtime: { kind: 'docker', image: 'sandbox', entrypoint: ['bash', './query.sh'] },
  permissions: { fs: { read: ['inputs/**'], write: ['artifacts/**'] }, net: { mode: 'none' } },
  limits: { memory_mb: 128 },
};
const explained = { found: expect.any(String), expected: expect.any(String) };
const checker = new ManifestChecker();
const context = { folder: 'json.query', files: new Set(['query.sh']), images: ['sandbox', 'data'] };

function problemsOf(manifest: unknown): readonly SkillProblem[] {
  const text = typeof manifest === 'string' ? manifest : JSON.stringify(manifest, null, 2);
  return checker.check(Buffer.from(text), context).problems;
}

/** The valid manifest with one value put somewhere else, or taken away with undefined. */
function withValue(pointer: string, value: unknown): unknown {
  const copy = structuredClone(valid) as unknown as Record<string, unknown>;
  const path = pointer.split('/').slice(1);
  const last = path.pop() ?? '';
  let at = copy;
  for (const key of path) at = at[key] as Record<string, unknown>;
  at[last] = value;
  return copy;
}

describe('a manifest', () => {
  test('that is right is taken as it is', () => {
    expect(checker.check(Buffer.from(JSON.stringify(valid)), context)).toEqual({
      manifest: valid,
      fitting: { ...valid.interface, limits: valid.limits },
      problems: [],
    });
  });

  test('that is wrong in many ways is told all of them at once', () => {
    const { fitting, problems } = checker.check(
      Buffer.from(
        JSON.stringify({
          ...valid,
          id: 'other.name',
          name: '',
          interface: { inputs: valid.interface.inputs, outputs: { type: 'object', requierd: [] } },
          runtime: { kind: 'podman', image: 'sandbx', entrypoint: ['bash', './qurey.sh'] },
        }),
      ),
      context,
    );
    expect(problems.map(({ pointer }) => pointer).sort()).toEqual([
      '/id',
      '/interface/outputs/requierd',
      '/name',
      '/name',
      '/runtime/entrypoint/1',
      '/runtime/image',
      '/runtime/kind',
    ]);
    expect(fitting).toEqual({ inputs: valid.interface.inputs, limits: valid.limits });
    const withoutForm = checker.check(
      Buffer.from(JSON.stringify(withValue('/interface/inputs/typ', 1))),
      context,
    );
    expect(withoutForm.fitting.inputs).toBeUndefined();
  });

  test.each([
    ['/schema_version', 2],
    ['/schema_version', '1'],
    ['/id', 'json'],
    ['/id', 'Json.Query'],
    ['/id', 'json..query'],
    ['/id', 'json.query\n'],
    ['/id', `json.${'q'.repeat(longestSkillId)}`],
    ['/name', ''],
    ['/description', 7],
    ['/runtime/kind', 'process'],
    ['/runtime/entrypoint', []],
    ['/runtime/entrypoint', ['/bin/sh']],
    ['/runtime/entrypoint', ['bash', 'a\0b']],
    ['/permissions/net/mode', 'bridge'],
    ['/permissions/fs/read', ['/etc/**']],
    ['/permissions/fs/read', ['inputs/../x']],
    ['/permissions/fs/write', ['work']],
    ['/permissions/fs/write', ['home/**']],
    ['/permissions/fs/write', 'work/**'],
    ['/limits/memory_mb', 31],
    ['/limits/memory_mb', 8193],
    ['/limits/memory_mb', '128'],
    ['/limits/pids', 8.5],
    ['/limits/cpu_cores', 0],
    ['/interface/inputs', { type: 'array' }],
    ['/interface/inputs', true],
    ['/interface/outputs', {}],
    ['/interface/inputs/properties', []],
    ['/interface/outputs/type', 'objekt'],
  ])('with %s of %j is refused there', (pointer, value) => {
    const problems = problemsOf(withValue(pointer, value));
    expect(problems.length).toBeGreaterThan(0);
    for (const problem of problems) {
      expect(problem.pointer.startsWith(pointer)).toBe(true);
      expect(problem).toMatchObject(explained);
    }
    expect(problems[0]?.line).toBeGreaterThan(1);
  });

  test.each(Object.keys(valid))('without %s is refused', (key) => {
    const { [key as 'id']: _, ...rest } = valid;
    expect(problemsOf(rest)).toEqual([
      {
        file: 'manifest.json',
        pointer: '',
        line: 1,
        column: 1,
        message: `"${key}" is missing`,
        ...explained,
      },
    ]);
  });

  test('says line, column, what was found and what was meant', () => {
    const text = JSON.stringify(valid, null, 2)
      .replace('"runtime"', '"runtme"')
      .replace('"memory_mb"', '"memroy_mb"');
    const problems = problemsOf(text);
    expect(problems).toContainEqual(
      expect.objectContaining({
        pointer: '/runtme',
        column: 3,
        suggestion: 'runtime',
        file: 'manifest.json',
      }),
    );
    const lines = text.split('\n');
    const limit = problems.find(({ pointer }) => pointer === '/limits/memroy_mb');
    expect(lines[(limit?.line ?? 0) - 1]?.slice((limit?.column ?? 0) - 1)).toBe('"memroy_mb": 128');
    expect(limit).toMatchObject({ suggestion: 'memory_mb', message: '"memroy_mb" is not a known key' });
    expect(problemsOf(withValue('/runtime/kind', 'dokcer'))).toEqual([
      expect.objectContaining({ found: '"dokcer"', expected: '"docker"', suggestion: 'docker' }),
    ]);
    expect(problemsOf(withValue('/interface/outputs/type', 'objekt'))).toEqual([
      expect.objectContaining({ found: '"objekt"', suggestion: 'object' }),
    ]);
    expect(problemsOf(withValue('/limits/memory_mb', 31))).toEqual([
      expect.objectContaining({ found: '31', expected: 'at least 32' }),
    ]);
  });

  test.each([
    ['input/**', 'inputs/**'],
    ['input/deep/*.csv', 'inputs/deep/*.csv'],
    ['artefacts/**', 'artifacts/**'],
    ['home/**', undefined],
  ])('that reads %s is told which folders there are, and the nearest', (path, suggestion) => {
    const [problem, ...more] = problemsOf(withValue('/permissions/fs/read', [path]));
    expect(more).toEqual([]);
    expect(problem?.expected).toBe('text such as "inputs/**", "work/**", "artifacts/**"');
    expect(problem?.suggestion).toBe(suggestion);
  });

  test('whose schemas cannot be compiled is told so with their place', () => {
    const bytes = Buffer.from(JSON.stringify(valid, null, 2));
    expect(checker.checkCompiling(bytes, valid.interface)).toEqual([]);
    expect(checker.checkCompiling(bytes, { ...valid.interface, outputs: { enum: [] } })).toEqual([
      expect.objectContaining({ pointer: '/interface/outputs', line: 15, message: 'cannot be compiled' }),
    ]);
  });

  test('whose id is not the name of its folder is refused', () => {
    const { problems } = checker.check(Buffer.from(JSON.stringify(valid)), {
      ...context,
      folder: 'json.ask',
    });
    expect(problems).toEqual([
      expect.objectContaining({ pointer: '/id', found: '"json.query"', expected: '"json.ask"' }),
    ]);
  });

  test('runs in an allowed image and starts a file that is there (case 47)', () => {
    expect(problemsOf(withValue('/runtime/image', 'sandbx'))).toEqual([
      expect.objectContaining({ pointer: '/runtime/image', suggestion: 'sandbox' }),
    ]);
    expect(problemsOf(withValue('/runtime/entrypoint', ['bash', './qurey.sh']))).toEqual([
      expect.objectContaining({ pointer: '/runtime/entrypoint/1', suggestion: './query.sh' }),
    ]);
  });

  test.each(['user', 'privileged', 'mounts', 'capabilities', 'devices', 'network'])(
    'has no word for %s (case 47)',
    (key) => {
      for (const group of ['runtime', 'permissions', 'limits']) {
        expect(problemsOf(withValue(`/${group}/${key}`, 0))).toEqual([
          expect.objectContaining({ pointer: `/${group}/${key}` }),
        ]);
      }
    },
  );
});

describe('the text of a manifest', () => {
  test.each([
    ['', 'empty'],
    ['{"id": 1,}', 'a trailing comma'],
    ['// c\n{}', 'a comment'],
    ['{"id" 1}', 'a missing colon'],
    ['{"limits": {"pids": 1e999}}', 'infinity'],
    ['[1, 2', 'an end too early'],
    ['[]', 'a list'],
    ['null', 'null'],
  ])('%j is refused: %s', (text) => {
    const [problem] = problemsOf(text);
    expect(problem?.line).toBeGreaterThan(0);
    expect(problem).toMatchObject(explained);
  });

  test('that is no JSON says in which value, what it found and what it expected', () => {
    expect(problemsOf('{"limits": {"a": 1},\n "runtime": {"kind": ture}}')).toEqual([
      {
        file: 'manifest.json',
        pointer: '/runtime/kind',
        line: 2,
        column: 22,
        message: 'is not JSON: invalid symbol at character 43',
        found: '"ture"',
        expected: 'a value',
        suggestion: 'true',
      },
    ]);
    expect(problemsOf('{"limits": {"pids" 9}}')).toEqual([
      expect.objectContaining({ pointer: '/limits/pids', found: '"9"', expected: 'a colon' }),
    ]);
    expect(problemsOf('{"limits": [1, 2')).toEqual([
      expect.objectContaining({ found: 'the end of the file', expected: 'a comma or "]"' }),
    ]);
  });

  test('with a key twice, wherever, is refused with the place of the second', () => {
    expect(problemsOf('{"id": "a.b",\n "limits": {"pids": 9,\n "pids": 10}}')).toEqual([
      expect.objectContaining({ pointer: '/limits/pids', line: 3, column: 2, ...explained }),
    ]);
  });

  test.each(['__proto__', 'constructor', 'prototype'])('with the key %s is refused (case 50)', (key) => {
    expect(problemsOf(`{"interface": {"${key}": {"polluted": 1}}}`)).toEqual([
      expect.objectContaining({ pointer: `/interface/${key}`, line: 1, ...explained }),
    ]);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test('with a byte order mark, other encodings, or without an end is told so', () => {
    const check = (bytes: Buffer) => checker.check(bytes, context).problems[0]?.message;
    expect(check(Buffer.from(`\ufeff${JSON.stringify(valid)}`))).toContain('byte order mark');
    expect(check(Buffer.from(JSON.stringify(valid), 'utf16le'))).toContain('not JSON');
    expect(check(Buffer.from([0x7b, 0xff, 0x7d]))).toContain('not UTF-8');
    expect(check(Buffer.alloc(maxManifestBytes + 1, ' '))).toContain(`${maxManifestBytes}`);
    expect(check(Buffer.from('['.repeat(100_000)))).toContain('nested');
  });
});

describe('limits', () => {
  test('past what Settings allow are told with their place (case 51)', () => {
    const bytes = Buffer.from(JSON.stringify(valid, null, 2));
    const under = (memory: number) => ({
      engine: undefined,
      settings: { version: 3, values: {}, ceilings: { memory_mb: memory } },
    });
    expect(checker.checkLimits(bytes, valid.limits, under(128))).toEqual([]);
    const [problem] = checker.checkLimits(bytes, valid.limits, under(64));
    expect(problem).toMatchObject({
      pointer: '/limits/memory_mb',
      file: 'manifest.json',
      found: '128',
      expected: 'at most 64',
    });
    expect(problem?.message).toContain("64 (the Settings' ceiling)");
    expect(problem?.line).toBeGreaterThan(20);
  });

  test('of the schema are those of the policy, and of names', () => {
    const path = new URL('../../../skills/_schema/manifest.schema.json', import.meta.url);
    const schema = JSON.parse(readFileSync(path, 'utf8')) as {
      properties: {
        id: { maxLength: number; pattern: string };
        limits: { properties: Record<string, { type: string; minimum: number; maximum: number }> };
      };
    };
    expect(schema.properties.id).toMatchObject({ maxLength: longestSkillId, pattern: skillIdPattern });
    const limits = schema.properties.limits.properties;
    expect(Object.keys(limits)).toEqual([...limitFields]);
    for (const field of limitFields) {
      expect(limits[field]).toMatchObject({
        type: limitForms[field].whole ? 'integer' : 'number',
        minimum: limitForms[field].floor,
        maximum: hardCeilings[field],
      });
    }
  });
});
