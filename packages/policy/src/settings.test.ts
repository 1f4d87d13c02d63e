import { describe, expect, it } from '@jest/globals';
import { SecboxError } from '@secbox/contracts';
import { hardCeilings } from './ceilings.js';
import { checkManifestLimits } from './manifest-limits.js';
import { checkSettings, parseSettings, type UncheckedSettings } from './settings.js';

const engine = { cpus: 4, memory_mb: 4096.7 };

describe('checkSettings', () => {
  it.each<[string, UncheckedSettings]>([
    ['nothing said', {}],
    ['values and ceilings', { values: { memory_mb: 256 }, ceilings: { memory_mb: 512 } }],
    ['the very ceilings', { ceilings: { ...hardCeilings, memory_mb: 4096, cpu_cores: 4 } }],
    ['a ceiling below the system default', { ceilings: { memory_mb: 64 } }],
    ['turning the read-only root off', { values: { read_only_root: false } }],
    ['permitting to turn it off', { ceilings: { read_only_root: false } }],
  ])('accepts %s', (_name, settings) => {
    expect(checkSettings(settings, engine)).toEqual([]);
  });

  it.each<[string, UncheckedSettings, string, object]>([
    [
      'a ceiling past the built-in one',
      { ceilings: { timeout_ms: 300_001 } },
      '/ceilings/timeout_ms',
      { asked: 300_001, ceiling: 300_000, layer: 'hard' },
    ],
    ['a value past the built-in one', { values: { pids: 4096 } }, '/values/pids', { layer: 'hard' }],
    [
      'more memory than the engine has',
      { ceilings: { memory_mb: 4097 } },
      '/ceilings/memory_mb',
      { ceiling: 4096, layer: 'engine' },
    ],
    [
      'more cpus than the engine has',
      { values: { cpu_cores: 4.5 } },
      '/values/cpu_cores',
      { layer: 'engine' },
    ],
    [
      'a value past its own ceiling',
      { values: { memory_mb: 513 }, ceilings: { memory_mb: 512 } },
      '/values/memory_mb',
      { ceiling: 512, layer: 'settings' },
    ],
    [
      'turning off what it demands',
      { values: { read_only_root: false }, ceilings: { read_only_root: true } },
      '/values/read_only_root',
      { asked: false, ceiling: true, layer: 'settings' },
    ],
    ['another network', { values: { net: { mode: 'host' } } }, '/values/net/mode', { layer: 'hard' }],
  ])('refuses %s', (_name, settings, pointer, facts) => {
    expect(checkSettings(settings, engine)).toMatchObject([
      { code: 'policy_exceeded', pointer, asked_by: 'settings', ...facts },
    ]);
    expect(() => parseSettings(settings, engine)).toThrow(SecboxError);
  });

  it.each<[string, UncheckedSettings, string]>([
    ['a part that is null', { values: null }, '/values'],
    ['a ceiling below its floor', { ceilings: { memory_mb: 16 } }, '/ceilings/memory_mb'],
    ['a ceiling for the network', { ceilings: { net: { mode: 'none' } } }, '/ceilings/net'],
  ])('finds malformed: %s', (_name, settings, pointer) => {
    expect(checkSettings(settings, engine)).toMatchObject([{ code: 'invalid_policy', pointer }]);
  });

  it('asks only the built-in ceilings while the engine is unknown', () => {
    expect(checkSettings({ ceilings: { memory_mb: 8192 } }, undefined)).toEqual([]);
    expect(checkSettings({ ceilings: { memory_mb: 8193 } }, undefined)).toHaveLength(1);
  });
});

describe('parseSettings', () => {
  it('returns both parts', () => {
    expect(parseSettings({ values: { pids: 64 } }, engine)).toEqual({ values: { pids: 64 }, ceilings: {} });
  });

  it('prefers the malformed to the excessive', () => {
    const both = { values: { pids: 1 }, ceilings: { pids: 1e6 } };
    expect(() => parseSettings(both, engine)).toThrow(expect.objectContaining({ code: 'invalid_policy' }));
  });
});

describe('checkManifestLimits', () => {
  const settings = { version: 3, values: {}, ceilings: { memory_mb: 512 } };

  it('accepts what Settings allow', () => {
    expect(checkManifestLimits({ memory_mb: 512, read_only_root: true }, { engine, settings })).toEqual([]);
  });

  it('case 51: lists everything that widens what Settings allow', () => {
    const limits = { memory_mb: 1024, cpu_cores: 8, pids: 'many', read_only_root: false };
    expect(checkManifestLimits(limits, { engine, settings })).toMatchObject([
      { code: 'invalid_policy', pointer: '/limits/pids' },
      { code: 'policy_exceeded', pointer: '/limits/memory_mb', ceiling: 512, layer: 'settings' },
      { code: 'policy_exceeded', pointer: '/limits/cpu_cores', ceiling: 4, layer: 'engine' },
      { code: 'policy_exceeded', pointer: '/limits/read_only_root', ceiling: true, layer: 'system' },
    ]);
  });
});
