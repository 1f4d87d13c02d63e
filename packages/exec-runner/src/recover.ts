import { parseTenantId, type EndedExec, type ExecRecord, type ExecSubmission } from '@secbox/contracts';
import type { ContainerEngine } from '@secbox/container-engine';
import type { Logger } from '@secbox/logging';
import type { Workspace } from '@secbox/workspace';
import { canonicalJson } from './canonical-json.js';
import { clearEphemeral } from './clear-invocations.js';
import { withoutResult } from './exec-outcome.js';
import { endSubprocesses } from './executors/subprocess-record.js';
import { decidedIn, type ExecPlan } from './exec-plan.js';
import { publishInterrupted } from './publish-interrupted.js';
import { isFull } from './publish-surely.js';
import { spooledEnd } from './record-end.js';
import type { ExecRecords } from './runner-options.js';
import { readSealedPlan } from './sealed-plan.js';
import { settledWithin } from './settled-within.js';
import type { Reconciler } from './upkeep/reconciler.js';
import type { Vault } from './vault.js';

export interface Recovery {
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly records: ExecRecords;
  readonly vault: Vault;
  readonly logger: Logger;
  readonly dataDir: string;
  /** Hears of containers that are removed. */
  readonly account: Pick<Reconciler, 'found'>;
}

/** What was found that belonged to nobody. */
export interface StrayCounts {
  readonly containers: number;
  readonly rows: number;
  readonly spools: number;
  /** Disks, overlays and slots. */
  readonly mounts: number;
}

export interface Recovered {
  readonly resumable: readonly ResumableExec[];
  /** Those that wait for a human's word. */
  readonly held: readonly ResumableExec[];
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
  const { workspace, records, logger } = recovery;
  const found = { containers: await removeContainers(recovery), rows: 0, spools: 0, mounts: 0 };
  await endSubprocesses(workspace, logger);
  const resumable = new Map<string, ResumableExec>();
  const held = new Map<string, ResumableExec>();
  const waiting = new Set<string>();
  for (const record of await records.unfinished()) {
    // One that was ended, but not recorded as such, is over although its row still waits.
    const over = (await spooledEnd(workspace, record.exec_id)) !== undefined;
    const plan = record.status === 'running' || over ? undefined : await planOf(recovery, record);
    if (plan && record.status === 'awaiting_approval') {
      held.set(record.exec_id, { plan, submission: record });
      logger.info('recovery.exec_still_held', { exec_id: record.exec_id });
    } else if (plan) {
      resumable.set(record.exec_id, { plan, submission: record });
      logger.info('recovery.exec_resumed', { exec_id: record.exec_id });
    } else {
      const reason = 'interrupted: the server ended while this exec was under way';
      if (await endInterrupted(recovery, record, reason)) found.rows += 1;
      else waiting.add(record.exec_id);
    }
  }
  for (const execId of await workspace.spooled()) {
    if (resumable.has(execId) || held.has(execId) || waiting.has(execId)) continue;
    await workspace.removeSpool(execId);
    found.spools += 1;
  }
  return { resumable: [...resumable.values()], held: [...held.values()], found };
}

type Containers = Pick<Recovery, 'engine' | 'account' | 'dataDir' | 'logger'>;

/** How many of this data folder there were, whoever made them. */
async function removeContainers({ engine, account, dataDir, logger }: Containers): Promise<number> {
  const containers = await engine.listOwned(dataDir);
  for (const container of containers) {
    await account.found(container);
    await engine.remove(container.id);
    logger.warn('recovery.container_removed', { exec_id: container.execId, running: container.running });
  }
  return containers.length;
}

/** How long a server that stops waits for an engine that does not answer. */
const leavingMs = 5000;

/**
 * To be called when a server stops and runs nothing any more. An engine that was lost while it made a container may have
 * it all the same, with nobody who knows of it. What is not removed now is removed by the next start.
 */
export async function leaveNoContainer(containers: Containers): Promise<void> {
  const leaving = removeContainers(containers).catch((error: unknown) => {
    containers.logger.warn('recovery.containers_left', { error });
  });
  await settledWithin(leavingMs, leaving);
}

type Ending = Pick<Recovery, 'workspace' | 'records' | 'logger'>;

/**
 * Gives a row that nobody is at any more its end: the one that waits in its spool, or the reason, with what it printed and
 * left. To be called when nothing of it can write any more. False when there is no room to publish that: it stays as it
 * is, to be tried again.
 */
export async function endInterrupted(ending: Ending, record: ExecRecord, reason: string): Promise<boolean> {
  const { workspace, records, logger } = ending;
  const finished = (await spooledEnd(workspace, record.exec_id)) ?? (await endOf(ending, record, reason));
  if (!finished) return false;
  const project = { tenant: parseTenantId(record.tenant), projectId: record.project_id };
  clearEphemeral(workspace, project, (error) =>
    logger.warn('exec.work_left', { exec_id: record.exec_id, error }),
  );
  await records.finish(record.exec_id, finished);
  logger.warn('recovery.exec_ended', { exec_id: record.exec_id, was: record.status });
  return true;
}

async function endOf(
  { workspace, logger }: Ending,
  record: ExecRecord,
  reason: string,
): Promise<EndedExec | undefined> {
  if (record.status !== 'running') return withoutResult('error', reason, new Date());
  try {
    return await publishInterrupted(workspace, record, reason);
  } catch (error) {
    if (isFull(error)) {
      logger.error('recovery.results_wait', { exec_id: record.exec_id, error });
      return undefined;
    }
    logger.error('recovery.results_lost', { exec_id: record.exec_id, error });
    const lost = `${reason}; its output and artifacts could not be published`;
    return withoutResult('error', lost, new Date());
  }
}

/** Only the very plan that was recorded is run. */
export async function planOf(
  { workspace, vault }: Pick<Recovery, 'workspace' | 'vault'>,
  { exec_id, plan_hash }: ExecRecord,
): Promise<ExecPlan | undefined> {
  const plan = await readSealedPlan(workspace, vault, exec_id);
  return plan && vault.fingerprint(canonicalJson(decidedIn(plan))) === plan_hash ? plan : undefined;
}
