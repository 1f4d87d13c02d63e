import type { ExecId, ProjectId, TenantId } from '@secbox/contracts';
import type { WorkspaceMounts } from './mounts.js';

/** Whose exec it is. */
export interface ExecPlace {
  readonly tenant: TenantId;
  readonly projectId: ProjectId;
  readonly execId: ExecId;
  /** Whether it may only look at its project's work. */
  readonly readOnlyWork?: boolean;
}

export type ProjectArea = 'inputs' | 'work' | 'artifacts';
export type ProjectPlace = Pick<ExecPlace, 'tenant' | 'projectId'>;

/** Where one exec's files are on this host. */
export interface ExecFolders {
  readonly mounts: WorkspaceMounts;
  readonly inputs: string;
  readonly work: string;
  readonly artifacts: string;
  /** Where the image lies that is mounted as the project's work, on systems that can. */
  readonly disk: string;
  /** Outside every mount: what the exec prints goes here until nothing of it can write any more. */
  readonly spool: string;
}

export type SelfTestFolders = Pick<ExecFolders, 'mounts' | 'inputs' | 'work' | 'disk'>;
/** Self-tests that may run at the same time have folders of their own. */
export type SelfTestName = 'self-test' | 'self-test-slots' | 'self-test-layers' | 'self-test-subprocess';
