import type { Approvals } from '@secbox/approvals';
import type { ContainerEngine } from '@secbox/container-engine';
import type {
  ArtifactRecord,
  EndedExec,
  ExecId,
  ExecRecord,
  ExecStart,
  ExecSubmission,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { PolicyEngine, PolicySettings } from '@secbox/policy';
import type { Workspace } from '@secbox/workspace';
import type { AdmissionLimits } from './admission.js';
import type { DiskLimits } from './disk/disk-limits.js';
import type { ExecKey } from './exec-order.js';
import type { Sandboxes } from './executors/sandboxes.js';
import type { KnownImage } from './known-image.js';
import type { LayeredWork } from './layers/layered-work.js';
import type { WarmStarts } from './pool/warm-starts.js';
import type { Vault } from './vault.js';

/** The part of the audit store that running needs. */
export interface ExecRecords {
  /** `contents` are the hashes of those of its inputs that are kept. */
  insert(submission: ExecSubmission, contents?: readonly string[]): Promise<void>;
  /** Of one that starts at once, and brings no inputs. */
  insertRunning(submission: ExecSubmission, start: ExecStart): Promise<void>;
  markRunning(execId: ExecId, start: ExecStart): Promise<void>;
  finish(execId: ExecId, ended: EndedExec): Promise<void>;
  find(execId: ExecId): Promise<ExecRecord | undefined>;
  findByIdempotencyKey(tenant: string, key: string): Promise<ExecRecord | undefined>;
  unfinished(): Promise<ExecRecord[]>;
}

/** What the rows of execs that are over list. */
export interface ListedFiles {
  findArtifact(exec: ExecKey, name: { readonly path: string }): Promise<ArtifactRecord | undefined>;
}

export interface ExecRunnerOptions {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly records: ExecRecords;
  readonly listed: ListedFiles;
  readonly logger: Logger;
  readonly image: KnownImage;
  /** What skills may run in, by the names that manifests use. */
  readonly skillImages?: Readonly<Record<string, KnownImage>>;
  readonly disk: DiskLimits;
  /** What execs over skills as files need; undefined where there are none. */
  readonly layered?: Pick<LayeredWork, 'during' | 'inSandbox' | 'identify'>;
  readonly warm: Pick<WarmStarts, 'take' | 'giveBack' | 'discard' | 'release'>;
  readonly vault: Vault;
  /** Which sandbox an exec runs in; absent: a container, whatever it is. */
  readonly sandboxes?: Pick<Sandboxes, 'choose' | 'subprocess'>;
  /** Marks our containers, so that clean-up touches no one else's. */
  readonly dataDir: string;
  readonly capacity: PolicyEngine;
  /** The administrator's part in every policy, as it is at this moment. */
  readonly policySettings: () => PolicySettings;
  readonly admission: AdmissionLimits;
  /** Who has to agree to what; absent: nobody to anything. */
  readonly approvals?: Approvals;
}
