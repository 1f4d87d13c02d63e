import { describe, expect, test } from '@jest/globals';
import { riskLevels } from './level.js';
import { allowedSandboxes, requiredSandbox, sandboxTypes, securityModes } from './security-mode.js';

describe('SecurityMode', () => {
  test('STRICT never leaves the container, whatever the level', () => {
    for (const level of riskLevels) {
      expect(requiredSandbox(level, 'STRICT')).toBe('docker');
      expect(allowedSandboxes(level, 'STRICT')).toEqual(['docker', 'aio']);
    }
  });

  test('PERMISSIVE lets the assessment pick: subprocess for SAFE and nothing else', () => {
    expect(riskLevels.map((level) => requiredSandbox(level, 'PERMISSIVE'))).toEqual([
      'subprocess',
      'docker',
      'docker',
      'docker',
      'docker',
    ]);
  });

  test('what is required is allowed, and every answer is a sandbox', () => {
    for (const mode of securityModes) {
      for (const level of riskLevels) {
        expect(allowedSandboxes(level, mode)).toContain(requiredSandbox(level, mode));
        expect(sandboxTypes).toEqual(expect.arrayContaining([...allowedSandboxes(level, mode)]));
      }
    }
  });
});
