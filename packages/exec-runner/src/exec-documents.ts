import type { ExecStart, ExecSubmission, FinishedExec } from '@secbox/contracts';
import { bindMountsOf } from '@secbox/container-engine';
import type { Collection, SetAside, VisibleInput, WorkspaceMounts } from '@secbox/workspace';
import type { OutputSummary } from './output-file.js';

export interface ExecEvidence {
  readonly submission: ExecSubmission;
  /** Left out where the submission is a whole row, which has it. */
  readonly start?: ExecStart;
  readonly finished: FinishedExec;
  /** Undefined where nobody knows them any more. */
  readonly mounts: WorkspaceMounts | undefined;
  readonly inputs: readonly VisibleInput[];
  readonly output: Readonly<Record<'stdout' | 'stderr', OutputSummary>>;
  readonly collection: Collection;
  readonly setAside: readonly SetAside[];
}

/** manifest.json: every file the exec left behind, with its hash. */
export function manifestOf({ submission, output, collection }: ExecEvidence): unknown {
  return {
    schema_version: 1,
    exec_id: submission.exec_id,
    output: {
      stdout: { path: 'stdout.txt', ...output.stdout },
      stderr: { path: 'stderr.txt', ...output.stderr },
    },
    ...collection,
  };
}

/** meta.json: what ran under which policy, and how it ended; agrees with the audit row. */
export function metaOf(evidence: ExecEvidence): unknown {
  return {
    schema_version: 1,
    ...evidence.submission,
    ...evidence.start,
    ...evidence.finished,
    inputs: evidence.inputs,
    docker_mounts: evidence.mounts ? mountsOf(evidence.mounts) : null,
    set_aside: evidence.setAside,
  };
}

function mountsOf(mounts: WorkspaceMounts): unknown {
  return bindMountsOf({ mounts }).map(({ source, target, readOnly }) => ({
    source,
    target,
    mode: readOnly ? 'ro' : 'rw',
  }));
}
