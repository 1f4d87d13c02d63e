import type { ContainerEngine } from '@secbox/container-engine';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import { withoutResult } from './exec-outcome.js';
import { spooledEnd } from './record-end.js';
import type { ExecRecords } from './runner-options.js';

export interface Recovery {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly records: ExecRecords;
  readonly logger: Logger;
  readonly dataDir: string;
}

/**
 * Ends what a server that was killed left behind on this data folder: first its containers, so that
 * nothing of them runs any more, then the rows that still wait for an end.
 */
export async function recover({ engine, workspace, records, logger, dataDir }: Recovery): Promise<void> {
  for (const container of await engine.listOwned(dataDir)) {
    await engine.remove(container.id);
    logger.warn('recovery.container_removed', { exec_id: container.execId, running: container.running });
  }
  for (const record of await records.unfinished()) {
    const reason = 'interrupted: the server ended while this exec was under way';
    const end = await spooledEnd(workspace, record.exec_id);
    await records.finish(record.exec_id, end ?? withoutResult('error', reason, new Date()));
    await workspace.removeSpool(record.exec_id);
    logger.warn('recovery.exec_ended', { exec_id: record.exec_id, was: record.status });
  }
}
