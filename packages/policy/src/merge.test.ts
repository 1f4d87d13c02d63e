import { describe, expect, it } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { hardCeilings } from './ceilings.js';
import { systemDefaults } from './defaults.js';
import { mergePolicy, type PolicyInputs } from './merge.js';

const engine = { cpus: 4, memory_mb: 4096, defaultRuntime: 'runc' };

function refusal(inputs: Omit<PolicyInputs, 'engine'>): SecboxError {
  try {
    mergePolicy({ engine, ...inputs });
  } catch (error) {
    if (error instanceof SecboxError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('mergePolicy', () => {
  it('gives the system defaults where nobody says anything', () => {
    const snapshot = mergePolicy({ engine });
    expect(snapshot.values).toEqual(systemDefaults);
    expect(new Set(Object.values(snapshot.sources))).toEqual(new Set(['system']));
    expect(snapshot.settings_version).toBe(0);
    expect(snapshot.ceilings).toMatchObject({
      timeout_ms: { value: hardCeilings.timeout_ms, layer: 'hard' },
      memory_mb: { value: 4096, layer: 'engine' },
      cpu_cores: { value: 4, layer: 'engine' },
      read_only_root: { value: true, layer: 'system' },
    });
  });

  it('lets the most specific layer decide and says which it was', () => {
    const snapshot = mergePolicy({
      engine,
      settings: { version: 7, values: { memory_mb: 2048, pids: 100, timeout_ms: 5000 }, ceilings: {} },
      manifest: { memory_mb: 512, pids: 64 },
      overrides: { memory_mb: 128 },
    });
    expect(snapshot.values).toMatchObject({ memory_mb: 128, pids: 64, timeout_ms: 5000, cpu_cores: 1 });
    expect(snapshot.sources).toMatchObject({
      memory_mb: 'request',
      pids: 'manifest',
      timeout_ms: 'settings',
      cpu_cores: 'system',
    });
    expect(snapshot.ceilings.memory_mb).toEqual({ value: 512, layer: 'manifest' });
    expect(snapshot.settings_version).toBe(7);
  });

  it('is not changed by a layer that repeats what holds', () => {
    expect(mergePolicy({ engine, overrides: systemDefaults })).toEqual(mergePolicy({ engine }));
  });

  it('lets a request rise above the default as far as the ceiling', () => {
    expect(mergePolicy({ engine, overrides: { memory_mb: 4096 } }).values.memory_mb).toBe(4096);
  });

  it.each<[string, Omit<PolicyInputs, 'engine'>, number, string]>([
    [
      'a Settings ceiling below the system default',
      { settings: { version: 1, values: {}, ceilings: { memory_mb: 512 } } },
      512,
      'settings',
    ],
    [
      'Settings stored for a larger engine',
      { settings: { version: 1, values: { memory_mb: 8000 }, ceilings: { memory_mb: 8192 } } },
      4096,
      'engine',
    ],
    [
      'Settings past their own ceiling',
      { settings: { version: 1, values: { memory_mb: 600 }, ceilings: { memory_mb: 500 } } },
      500,
      'settings',
    ],
  ])('cuts down: %s', (_name, inputs, value, layer) => {
    const snapshot = mergePolicy({ engine, ...inputs });
    expect(snapshot.values.memory_mb).toBe(value);
    expect(snapshot.sources.memory_mb).toBe(layer);
    expect(snapshot.ceilings.memory_mb).toEqual({ value, layer });
  });

  it('cuts the system defaults down to a small engine', () => {
    const snapshot = mergePolicy({ engine: { ...engine, cpus: 0.5, memory_mb: 256.9 } });
    expect(snapshot.values).toMatchObject({ memory_mb: 256, cpu_cores: 0.5 });
    expect(snapshot.sources).toMatchObject({ memory_mb: 'engine', cpu_cores: 'engine' });
  });

  it.each([
    { cpus: 0, memory_mb: 0 },
    { cpus: NaN, memory_mb: 1024 },
    { cpus: 2, memory_mb: 31.9 },
  ])('takes %j for no engine', (broken) => {
    expect(() => mergePolicy({ engine: { ...engine, ...broken } })).toThrow(
      expect.objectContaining({ code: 'engine_unavailable' }),
    );
  });

  it("has the engine's runtime unless Settings name one", () => {
    expect(mergePolicy({ engine }).runtime).toEqual({ value: 'runc', layer: 'engine' });
    const settings = { version: 1, values: {}, ceilings: {} };
    expect(mergePolicy({ engine, settings }).runtime).toEqual({ value: 'runc', layer: 'engine' });
    expect(mergePolicy({ engine, settings: { ...settings, runtime: 'runsc' } }).runtime).toEqual({
      value: 'runsc',
      layer: 'settings',
    });
  });

  it('freezes the snapshot in depth', () => {
    const snapshot = mergePolicy({ engine });
    for (const part of [
      snapshot,
      snapshot.values,
      snapshot.values.net,
      snapshot.ceilings.pids,
      snapshot.sources,
    ]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe('mergePolicy refuses', () => {
  it('case 46: a request past the built-in, the engine’s and the Settings ceiling, all told', () => {
    const error = refusal({
      settings: { version: 1, values: {}, ceilings: { max_stdout_bytes: 1000 } },
      overrides: { timeout_ms: 300_001, cpu_cores: 5, max_stdout_bytes: 1001, pids: 9, privileged: true },
    });
    expect(error.code).toBe('policy_exceeded');
    expect(error.details?.['violations']).toMatchObject([
      { field: 'privileged', asked: true, ceiling: null, layer: 'hard', asked_by: 'request' },
      { field: 'timeout_ms', asked: 300_001, ceiling: 300_000, layer: 'hard', asked_by: 'request' },
      { field: 'max_stdout_bytes', asked: 1001, ceiling: 1000, layer: 'settings', asked_by: 'request' },
      { field: 'cpu_cores', asked: 5, ceiling: 4, layer: 'engine', asked_by: 'request' },
    ]);
    expect(error.message).toContain(
      "cpu_cores may be at most 4 (what the engine's machine has); the request asked for 5",
    );
  });

  it('case 46: a request past what its skill declared', () => {
    const error = refusal({ manifest: { memory_mb: 256 }, overrides: { memory_mb: 257 } });
    expect(error.details?.['violations']).toMatchObject([
      { field: 'memory_mb', ceiling: 256, layer: 'manifest' },
    ]);
  });

  it('case 51: a manifest that Settings no longer allow, whatever the request', () => {
    const error = refusal({
      settings: { version: 2, values: {}, ceilings: { memory_mb: 512 } },
      manifest: { memory_mb: 1024 },
      overrides: { memory_mb: 64 },
    });
    expect(error.code).toBe('policy_exceeded');
    expect(error.details?.['violations']).toMatchObject([
      { asked_by: 'manifest', asked: 1024, ceiling: 512 },
    ]);
  });

  it('case 47: a manifest that asks for another network or for more than a box', () => {
    const manifest = JSON.parse('{"net":{"mode":"host"},"privileged":true}') as PolicyInputs['manifest'];
    expect(refusal({ manifest }).details?.['violations']).toMatchObject([
      { field: 'net.mode', asked_by: 'manifest', ceiling: 'none' },
      { field: 'privileged', asked_by: 'manifest', ceiling: null },
    ]);
  });

  it('a malformed request', () => {
    expect(refusal({ overrides: { memory_mb: 0 } }).code).toBe('invalid_policy');
    expect(refusal({ overrides: null }).code).toBe('invalid_policy');
  });

  it('as its own fault: Settings or a manifest that nobody checked', () => {
    const settings = { version: 1, values: { memory_mb: 0 }, ceilings: {} };
    expect(refusal({ settings }).code).toBe('internal_error');
    expect(refusal({ manifest: { pids: NaN } }).code).toBe('internal_error');
  });
});

describe('read_only_root', () => {
  const permitted = { version: 1, values: {}, ceilings: { read_only_root: false } };

  it('cannot be turned off by a request or a manifest on its own', () => {
    const violations = [{ field: 'read_only_root', asked: false, ceiling: true, layer: 'system' }];
    expect(refusal({ overrides: { read_only_root: false } }).details).toMatchObject({ violations });
    expect(refusal({ manifest: { read_only_root: false } }).details).toMatchObject({ violations });
  });

  it('stays on where Settings only permit turning it off', () => {
    const snapshot = mergePolicy({ engine, settings: permitted });
    expect(snapshot.values.read_only_root).toBe(true);
    expect(snapshot.ceilings.read_only_root).toEqual({ value: false, layer: 'settings' });
  });

  it('is turned off by whoever may', () => {
    const asked = { read_only_root: false };
    expect(mergePolicy({ engine, settings: permitted, overrides: asked })).toMatchObject({
      values: asked,
      sources: { read_only_root: 'request' },
    });
    const byValue = { version: 1, values: asked, ceilings: {} };
    expect(mergePolicy({ engine, settings: byValue })).toMatchObject({
      values: asked,
      sources: { read_only_root: 'settings' },
    });
  });

  it('stays on for requests when the manifest demands it', () => {
    const error = refusal({
      settings: permitted,
      manifest: { read_only_root: true },
      overrides: { read_only_root: false },
    });
    expect(error.details?.['violations']).toMatchObject([{ layer: 'manifest', ceiling: true }]);
  });
});
