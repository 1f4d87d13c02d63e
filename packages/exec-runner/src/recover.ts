import type { ExecRecord, ExecSubmission } from '@secbox/contracts';
import type { ContainerEngine } from '@secbox/container-engine';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import { canonicalJson } from './canonical-json.js';
import { withoutResult } from './exec-outcome.js';
import { decidedIn, type ExecPlan } from './exec-plan.js';
import { spooledEnd } from './record-end.js';
import type { ExecRecords } from './runner-options.js';
import { readSealedPlan } from './sealed-plan.js';
import type { Vault } from './vault.js';

export interface Recovery {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly records: ExecRecords;
  readonly vault: Vault;
  readonly logger: Logger;
  readonly dataDir: string;
}

/** What was found that belonged to nobody. */
export interface StrayCounts {
  readonly containers: number;
  readonly rows: number;
  readonly spools: number;
}

export interface Recovered {
  readonly resumable: readonly ResumableExec[];
  readonly found: StrayCounts;
}

/** An exec that was taken on and never started. */
export interface ResumableExec {
  readonly plan: ExecPlan;
  readonly submission: ExecSubmission;
}

/**
 * Clears up what an earlier server left behind on this data folder: first its containers, so that nothing
 * of them runs any more, then the rows that still wait for an end, then what waits on disk for nobody.
 * Those that never started are given back, to be run.
 */
export async function recover(recovery: Recovery): Promise<Recovered> {
  const { engine, workspace, records, logger, dataDir } = recovery;
  const found = { containers: 0, rows: 0, spools: 0 };
  for (const container of await engine.listOwned(dataDir)) {
    await engine.remove(container.id);
    found.containers += 1;
    logger.warn('recovery.container_removed', { exec_id: container.execId, running: container.running });
  }
  const resumable = new Map<string, ResumableExec>();
  for (const record of await records.unfinished()) {
    // One that was ended, but not recorded as such, is over although its row still waits.
    const over = (await spooledEnd(workspace, record.exec_id)) !== undefined;
    const plan = record.status === 'queued' && !over ? await planOf(recovery, record) : undefined;
    if (plan) {
      resumable.set(record.exec_id, { plan, submission: record });
      logger.info('recovery.exec_resumed', { exec_id: record.exec_id });
    } else {
      found.rows += 1;
      await endInterrupted(recovery, record, 'interrupted: the server ended while this exec was under way');
    }
  }
  for (const execId of await workspace.spooled()) {
    if (resumable.has(execId)) continue;
    await workspace.removeSpool(execId);
    found.spools += 1;
  }
  return { resumable: [...resumable.values()], found };
}

/** Gives a row that nobody is at any more its end: the one that waits in its spool, or the reason. */
export async function endInterrupted(
  { workspace, records, logger }: Pick<Recovery, 'workspace' | 'records' | 'logger'>,
  record: ExecRecord,
  reason: string,
): Promise<void> {
  const finished = await spooledEnd(workspace, record.exec_id);
  await records.finish(record.exec_id, finished ?? withoutResult('error', reason, new Date()));
  logger.warn('recovery.exec_ended', { exec_id: record.exec_id, was: record.status });
}

/** Only the very plan that was recorded is run. */
async function planOf(
  { workspace, vault }: Recovery,
  { exec_id, plan_hash }: ExecRecord,
): Promise<ExecPlan | undefined> {
  const plan = await readSealedPlan(workspace, vault, exec_id);
  return plan && vault.fingerprint(canonicalJson(decidedIn(plan))) === plan_hash ? plan : undefined;
}
