import {
  execStatuses,
  isFinal,
  noEvidence,
  SecboxError,
  type EndedExec,
  type ExecId,
  type FinishedExec,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import { pause } from './pause.js';
import type { ExecRecords } from './runner-options.js';

export interface ExecEnd {
  readonly execId: ExecId;
  readonly finished: EndedExec;
  readonly records: Pick<ExecRecords, 'finish'>;
  readonly workspace: Workspace;
  readonly log: Logger;
  /** Aborted when nobody can wait any longer: what is spooled by then is left to the next server. */
  readonly abandon: AbortSignal;
}

const retryMs = 500;

/**
 * Writes the final status. A database that does not take it is tried again until it does; meanwhile the
 * end lies in the exec's spool, where the next start finds it if this process does not live that long. Throws when
 * nobody can wait any longer and neither takes it: then the next start ends the row with a reason.
 */
export async function recordEnd({
  execId,
  finished,
  records,
  workspace,
  log,
  abandon,
}: ExecEnd): Promise<'recorded' | 'spooled'> {
  for (let spooled = false; ;) {
    const isLastTry = abandon.aborted;
    try {
      await records.finish(execId, finished);
      return 'recorded';
    } catch (error) {
      // The store itself refused: the row has its end already.
      if (error instanceof SecboxError && error.kind !== 'unavailable') throw error;
      if (!spooled) log.error('exec.end_not_recorded', { error });
      spooled ||= await workspace
        .writeSpooled(execId, endFile, JSON.stringify(finished), { durable: true })
        .then(
          () => true,
          // The disk that has no room for the row may have none for this either.
          () => false,
        );
      if (!spooled && isLastTry) throw error;
    }
    if (spooled && abandon.aborted) return 'spooled';
    await pause(retryMs, abandon);
  }
}

/** The end that a process could not record before it died. */
export async function spooledEnd(workspace: Workspace, execId: ExecId): Promise<EndedExec | undefined> {
  const text = await workspace.readSpooled(execId, endFile);
  if (text === undefined) return undefined;
  try {
    const end = JSON.parse(text.toString('utf8')) as (FinishedExec & Partial<EndedExec>) | null;
    if (!end || !execStatuses.includes(end.status) || !isFinal(end.status)) return undefined;
    // Versions before the lists were recorded spooled none.
    return { evidence: noEvidence, ...end };
  } catch {
    // Cut off while it was written: then it is not known.
    return undefined;
  }
}

const endFile = 'end.json';
