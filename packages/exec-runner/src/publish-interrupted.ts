import { neverRan, parseTenantId, shortened, type EndedExec, type ExecRecord } from '@secbox/contracts';
import {
  Directory,
  finishPublishing,
  hashFile,
  publishResults,
  setReservedNamesAside,
  within,
  type Collection,
  type ExecFolders,
  type ResultDocuments,
  type VisibleInput,
  type Workspace,
} from '@secbox/workspace';
import { collectingDeadline } from './collecting-deadline.js';
import { collectLeft, openReclaimed } from './exec-artifacts.js';
import { manifestOf, metaOf } from './exec-documents.js';
import { artifactsOf, inputsOf } from './exec-evidence.js';
import { toldOf } from './fresh-exec.js';
import { outputNames, type OutputSummary } from './output-file.js';

type Output = Readonly<Record<'stdout' | 'stderr', OutputSummary>>;

/**
 * Publishes what an exec printed and left whose server was killed, and gives its end: the one that it had come to, where
 * its documents say so, or the reason. To be called only when nothing of it can write any more; however often this is cut
 * off itself, the next time goes on with it.
 */
export async function publishInterrupted(
  workspace: Workspace,
  record: ExecRecord,
  reason: string,
): Promise<EndedExec> {
  const place = {
    tenant: parseTenantId(record.tenant),
    projectId: record.project_id,
    execId: record.exec_id,
  };
  const folders = workspace.foldersOf(place);
  // It is there from before the start on: where it is gone, nothing in the artifact folder can be told from what the
  // program planted, and none is made anew.
  return within(Directory.open(folders.spool), (spool) =>
    within(openReclaimed(folders.artifacts), async (artifacts) => {
      const begun = await finishPublishing(spool, artifacts);
      if (begun) return endIn(begun);
      const documents = await documentsOf(record, reason, {
        spool,
        artifacts,
        mounts: mountsOf(record, folders),
        // As far as can be known: what came before, and what is there now.
        inputs: await workspace.inputsOf(place).list(),
      });
      await publishResults(spool, artifacts, documents);
      return endIn(documents);
    }),
  );
}

interface Left {
  readonly spool: Directory;
  readonly artifacts: Directory;
  readonly mounts: ExecFolders['mounts'] | undefined;
  readonly inputs: readonly VisibleInput[];
}

async function documentsOf(
  record: ExecRecord,
  reason: string,
  { spool, artifacts, mounts, inputs }: Left,
): Promise<ResultDocuments> {
  const { values } = record.policy_snapshot;
  const output: Output = {
    stdout: await summaryOf(spool, outputNames.stdout, values.max_stdout_bytes),
    stderr: await summaryOf(spool, outputNames.stderr, values.max_stderr_bytes),
  };
  // As for one that was stopped: a server that starts waits for it.
  const stop = collectingDeadline(AbortSignal.abort());
  // Others of its project may not have ended yet.
  const setAside = setReservedNamesAside(artifacts);
  const collection = await collectLeft(artifacts, values.max_artifacts_bytes_total, stop, spool);
  const finished = {
    ...neverRan('error', reason, new Date()),
    stdout_truncated: output.stdout.truncated,
    stderr_truncated: output.stderr.truncated,
    artifacts_truncated: collection.truncated,
  };
  const evidence = { submission: toldOf(record), finished, mounts, inputs, output, setAside, collection };
  return { manifest: manifestOf(evidence), meta: metaOf(evidence) };
}

/** What is as long as it may be had probably more to come. */
async function summaryOf(spool: Directory, name: string, limit: number): Promise<OutputSummary> {
  const file = spool.openFile(name);
  try {
    const { sha256, length } = await hashFile(file);
    return { size: length, sha256, truncated: length >= limit };
  } finally {
    file.close();
  }
}

/** Of a skill, or on a user's files, only its plan knew them. */
function mountsOf({ skill_id, user_id }: ExecRecord, { mounts }: ExecFolders): Left['mounts'] {
  return skill_id === null && user_id === null ? mounts : undefined;
}

/** The end that the documents of an exec tell. They are our own. */
function endIn(documents: ResultDocuments): EndedExec {
  const meta = documents.meta as EndedExec & { readonly inputs: readonly VisibleInput[] };
  const manifest = documents.manifest as Collection & { readonly output: Output };
  const names = Object.keys(neverRan('error', '', new Date()));
  const told = Object.fromEntries(Object.entries(meta).filter(([name]) => names.includes(name)));
  const finished = { ...neverRan('error', '', new Date()), ...told };
  return {
    ...finished,
    effects: finished.effects && shortened(finished.effects),
    evidence: { inputs: inputsOf(meta.inputs), artifacts: artifactsOf(manifest.output, manifest) },
  };
}
