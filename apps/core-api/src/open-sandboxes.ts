import type { SecurityModeName } from '@secbox/contracts';
import { Sandboxes, SubprocessExecutor, type SubprocessReport } from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import type { RiskAssessor } from '@secbox/risk';
import type { Workspace } from '@secbox/workspace';
import type { Config } from './config.js';

export interface SandboxParts {
  readonly config: Pick<Config, 'subprocess' | 'subprocessProgram'>;
  readonly mode: () => SecurityModeName;
  readonly assessor: RiskAssessor;
  readonly workspace: Workspace;
  readonly disk: { readonly maxFileBytes: (maxArtifactsBytes: number) => number };
  readonly dataDir: string;
  readonly logger: Logger;
}

/** What health tells of how sandboxes are chosen. */
export interface SecurityReport {
  readonly mode: SecurityModeName;
  readonly subprocess: SubprocessReport;
}

export interface OpenedSandboxes {
  readonly sandboxes: Sandboxes;
  readonly report: () => SecurityReport;
  readonly warnings: () => readonly string[];
}

/** The choice of sandboxes; whether this host can run processes of its own is tried only where that is turned on. */
export async function openSandboxes(parts: SandboxParts): Promise<OpenedSandboxes> {
  const { config, mode } = parts;
  const subprocess = config.subprocess
    ? new SubprocessExecutor({ ...parts, program: config.subprocessProgram })
    : undefined;
  await subprocess?.begin();
  // Whoever comes first does not wait for the assessor; where that cannot start, execs run in containers.
  if (subprocess?.report().available === true) parts.assessor.ready().catch(() => undefined);
  const tried = () => subprocess?.report() ?? { available: false, why: 'SECBOX_SUBPROCESS is off' };
  return {
    sandboxes: new Sandboxes({ ...parts, subprocess }),
    report: () => ({ mode: mode(), subprocess: tried() }),
    warnings: () => warningsOf(subprocess?.report(), mode()),
  };
}

function warningsOf(subprocess: SubprocessReport | undefined, mode: SecurityModeName): string[] {
  if (!subprocess) return [];
  if (!subprocess.available)
    return [`subprocess: turned on, but not possible here: ${subprocess.why}. All execs run in containers.`];
  return [
    mode === 'PERMISSIVE'
      ? 'subprocess: what looks SAFE runs as a process of this host, without a container. For development only.'
      : 'subprocess: turned on, and without effect as long as the mode is STRICT. For development only.',
  ];
}
