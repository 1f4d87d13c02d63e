import { describe, expect, it } from '@jest/globals';
import { limitFields, SecboxError } from '@secbox/contracts';
import fc from 'fast-check';
import { parseOverrides } from './parse-overrides.js';

function failure(input: unknown): SecboxError {
  try {
    parseOverrides(input);
  } catch (error) {
    if (error instanceof SecboxError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

function pointers(error: SecboxError): string[] {
  return (error.details?.['problems'] as { pointer: string }[]).map(({ pointer }) => pointer);
}

describe('parseOverrides accepts', () => {
  it.each<[string, object]>([
    ['nothing', {}],
    ['every field', { timeout_ms: 100, memory_mb: 32, pids: 8, cpu_cores: 0.01, read_only_root: true }],
    ['no network, said aloud', { net: { mode: 'none' } }],
    ['numbers past every ceiling, which only the merge knows', { memory_mb: 1e300 }],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { pids: 9 })],
  ])('%s', (_name, input) => {
    expect(parseOverrides(input)).toEqual({ ...input });
  });
});

describe('parseOverrides refuses as malformed', () => {
  it.each<[string, string, string]>([
    ['null', 'null', ''],
    ['an array', '[512]', ''],
    ['a string', '"memory_mb"', ''],
    ['case 49: a number as text', '{"memory_mb":"512"}', '/memory_mb'],
    ['case 49: a fraction of a pid', '{"pids":8.5}', '/pids'],
    ['case 49: a negative', '{"timeout_ms":-1}', '/timeout_ms'],
    ['case 49: 0, which the engine takes for no limit', '{"memory_mb":0}', '/memory_mb'],
    ['case 49: minus 0', '{"cpu_cores":-0}', '/cpu_cores'],
    ['case 49: null', '{"pids":null}', '/pids'],
    ['case 49: a number in an array', '{"memory_mb":[512]}', '/memory_mb'],
    ['case 49: 1e999', '{"max_stdout_bytes":1e999}', '/max_stdout_bytes'],
    ['case 49: 1e999 of what may be a fraction', '{"cpu_cores":1e999}', '/cpu_cores'],
    ['an object for a number', '{"cpu_cores":{"valueOf":1}}', '/cpu_cores'],
    ['memory below the floor', '{"memory_mb":31}', '/memory_mb'],
    ['pids below the floor', '{"pids":7}', '/pids'],
    ['cpus below the floor', '{"cpu_cores":0.009}', '/cpu_cores'],
    ['a timeout below the floor', '{"timeout_ms":99}', '/timeout_ms'],
    ['half a byte', '{"max_artifacts_bytes_total":1024.5}', '/max_artifacts_bytes_total'],
    ['a number for a boolean', '{"read_only_root":1}', '/read_only_root'],
    ['a network that is no object', '{"net":"none"}', '/net'],
    ['a network of null', '{"net":null}', '/net'],
    ['a network without a mode', '{"net":{}}', '/net/mode'],
    ['a network mode that is no name', '{"net":{"mode":false}}', '/net/mode'],
    ['a second key in net', '{"net":{"mode":"none","dns":"8.8.8.8"}}', '/net/dns'],
    ['case 50: an unknown key', '{"memory":512}', '/memory'],
    ['an unknown key to be escaped', '{"a/b~c":1}', '/a~1b~0c'],
    ['case 50: constructor', '{"constructor":{"prototype":{"x":1}}}', '/constructor'],
    ['case 50: __proto__', '{"__proto__":{"memory_mb":9999}}', '/__proto__'],
    ['case 50: __proto__ in net', '{"net":{"mode":"none","__proto__":{}}}', '/net/__proto__'],
    ['case 50: __proto__ deep in a privilege', '{"mounts":[{"a":{"__proto__":1}}]}', '/mounts/0/a/__proto__'],
  ])('%s', (_name, json, pointer) => {
    const error = failure(JSON.parse(json));
    expect(error.code).toBe('invalid_policy');
    expect(pointers(error)).toContain(`/policy_overrides${pointer}`);
    expect(({} as Record<string, unknown>)['memory_mb']).toBeUndefined();
  });

  it('NaN, bigints and class instances', () => {
    expect(failure({ memory_mb: NaN }).code).toBe('invalid_policy');
    expect(failure({ memory_mb: 512n }).code).toBe('invalid_policy');
    expect(failure(new Map([['memory_mb', 512]])).code).toBe('invalid_policy');
  });

  it('with all problems at once, each once', () => {
    const error = failure(JSON.parse('{"pids":"9","memory_mb":1,"x":1,"__proto__":1,"user":"0"}'));
    expect(pointers(error).sort()).toEqual(
      ['__proto__', 'memory_mb', 'pids', 'x'].map((key) => `/policy_overrides/${key}`),
    );
  });

  it('with an answer of bounded size, whatever was sent', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`${n}`.repeat(500), n]));
    const error = failure(many);
    expect(error.details?.['problem_count']).toBe(5000);
    expect(JSON.stringify(error.details).length).toBeLessThan(20_000);
    expect(error.message.length).toBeLessThan(300);
  });

  it('without letting a key break the log line', () => {
    const { message } = failure({ 'a\n\u001b[2J': 1 });
    expect(message).not.toContain('\n');
    expect(message).not.toContain('\u001b');
  });
});

describe('parseOverrides refuses as exceeding', () => {
  it.each(['bridge', 'host', 'container:x', 'default', 'None', ' none'])('case 47: network %j', (mode) => {
    const error = failure({ net: { mode } });
    expect(error.code).toBe('policy_exceeded');
    expect(error.details?.['violations']).toEqual([
      {
        field: 'net.mode',
        asked: mode,
        ceiling: 'none',
        layer: 'hard',
        asked_by: 'request',
        pointer: '/policy_overrides/net/mode',
      },
    ]);
  });

  it.each<[string, unknown, unknown]>([
    ['image', 'evil:latest', 'evil:latest'],
    ['user', 0, 0],
    ['privileged', true, true],
    ['capabilities', ['SYS_ADMIN'], 'array'],
    ['mounts', [{ source: '/' }], 'array'],
    ['devices', {}, 'object'],
    ['runtime', 'x'.repeat(100), `${'x'.repeat(64)}…`],
  ])('case 47: %s', (field, value, asked) => {
    const error = failure({ [field]: value });
    expect(error.code).toBe('policy_exceeded');
    expect(error.details?.['violations']).toMatchObject([{ field, asked, ceiling: null, layer: 'hard' }]);
  });

  it('only when nothing is malformed', () => {
    expect(failure({ privileged: true, pids: 0 }).code).toBe('invalid_policy');
  });
});

describe('parseOverrides on anything', () => {
  const anything = fc.anything({
    key: fc.oneof(
      fc.constantFrom(...limitFields, 'net', 'mode', 'read_only_root', '__proto__', 'constructor', 'image'),
      fc.string(),
    ),
    maxDepth: 4,
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
  });

  it('throws nothing but a SecboxError and pollutes nothing', () => {
    const before = Reflect.ownKeys(Object.prototype);
    fc.assert(
      fc.property(anything, (input) => {
        try {
          const parsed = parseOverrides(input);
          expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
        } catch (error) {
          expect(error).toBeInstanceOf(SecboxError);
          expect(['invalid_policy', 'policy_exceeded']).toContain((error as SecboxError).code);
          expect(() => JSON.stringify((error as SecboxError).details)).not.toThrow();
        }
        expect(Reflect.ownKeys(Object.prototype)).toEqual(before);
      }),
      { numRuns: 2000 },
    );
  });

  it('survives cycles and great depth', () => {
    const cycle: Record<string, unknown> = {};
    cycle['mounts'] = cycle;
    expect(failure(cycle).code).toBe('policy_exceeded');
    expect(failure(JSON.parse(`{"x":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)).code).toBe(
      'invalid_policy',
    );
  });
});
