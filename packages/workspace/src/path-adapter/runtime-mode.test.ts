import { describe, expect, it } from '@jest/globals';
import {
  detectRuntimeMode,
  resolveRuntimeMode,
  type RuntimeFacts,
  type RuntimeMode,
} from './runtime-mode.js';

const linux: RuntimeFacts = { platform: 'linux', release: '6.1.0-18-amd64', env: {} };
const wslRelease = '5.15.153.1-microsoft-standard-WSL2';

describe('detectRuntimeMode', () => {
  it.each<[string, RuntimeFacts, RuntimeMode]>([
    ['Windows', { platform: 'win32', release: '10.0.22631', env: {} }, 'windows'],
    [
      'Windows, started from a WSL shell',
      { ...linux, platform: 'win32', env: { WSL_INTEROP: '/x' } },
      'windows',
    ],
    ['Linux', linux, 'linux'],
    ['Linux on Azure', { ...linux, release: '6.5.0-1022-azure' }, 'linux'],
    ['macOS', { platform: 'darwin', release: '23.5.0', env: {} }, 'linux'],
    ['WSL 2', { ...linux, release: wslRelease }, 'wsl'],
    ['WSL 1', { ...linux, release: '4.4.0-19041-Microsoft' }, 'wsl'],
    ['WSL known by /proc/version', { ...linux, procVersion: 'Linux version 5.10 (Microsoft@x)' }, 'wsl'],
    ['WSL with a kernel of one’s own', { ...linux, env: { WSL_DISTRO_NAME: 'Debian' } }, 'wsl'],
    ['an empty variable', { ...linux, env: { WSL_DISTRO_NAME: '', WSL_INTEROP: undefined } }, 'linux'],
    ['a container on WSL', { ...linux, release: wslRelease, inContainer: true }, 'linux'],
  ])('%s', (_name, facts, mode) => {
    expect(detectRuntimeMode(facts)).toBe(mode);
    expect(resolveRuntimeMode('auto', facts)).toBe(mode);
  });
});

describe('resolveRuntimeMode', () => {
  it('takes the administrator’s word where it is possible', () => {
    expect(resolveRuntimeMode('wsl', linux)).toBe('wsl');
    expect(resolveRuntimeMode('linux', { ...linux, release: wslRelease })).toBe('linux');
    expect(resolveRuntimeMode('windows', { ...linux, platform: 'win32' })).toBe('windows');
  });

  it.each<[RuntimeMode, string]>([
    ['windows', 'linux'],
    ['wsl', 'win32'],
    ['linux', 'win32'],
  ])('refuses %s on %s', (mode, platform) => {
    expect(() => resolveRuntimeMode(mode, { ...linux, platform })).toThrow(
      expect.objectContaining({ code: 'invalid_setting', details: { setting: 'SECBOX_RUNTIME_MODE' } }),
    );
  });
});
