import { isAtLeast, type RiskLevel } from './level.js';

export const securityModes = ['STRICT', 'PERMISSIVE'] as const;
export type SecurityMode = (typeof securityModes)[number];

export const sandboxTypes = ['subprocess', 'docker', 'aio'] as const;
export type SandboxType = (typeof sandboxTypes)[number];

/**
 * What the assessment alone would pick: only what is SAFE may do without a container. A level is advice, and
 * this is its whole effect on isolation.
 */
export function recommendedSandbox(level: RiskLevel): SandboxType {
  return isAtLeast(level, 'LOW') ? 'docker' : 'subprocess';
}

/** In which sandboxes code of this level may run under this mode, the one to take first. */
export function allowedSandboxes(level: RiskLevel, mode: SecurityMode): readonly SandboxType[] {
  const contained: readonly SandboxType[] = ['docker', 'aio'];
  switch (mode) {
    case 'STRICT':
      return contained;
    case 'PERMISSIVE':
      return recommendedSandbox(level) === 'subprocess' ? ['subprocess', ...contained] : contained;
  }
}

/** The sandbox that code of this level gets under this mode. */
export function requiredSandbox(level: RiskLevel, mode: SecurityMode): SandboxType {
  return allowedSandboxes(level, mode)[0] ?? 'docker';
}
