import type { ExecId } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { isErrno, type Workspace } from '@secbox/workspace';
import { killSurely, type HostProcess } from './host-process.js';

const recordName = 'subprocess.json';
const surelyMs = 30_000;

/** By which a next server ends what this one started, should it be killed before. */
export async function recordSubprocess(
  workspace: Workspace,
  execId: ExecId,
  processes: readonly HostProcess[],
): Promise<void> {
  // A power cut that would take it takes the processes, too.
  await workspace.writeSpooled(execId, recordName, JSON.stringify(processes), { durable: false });
}

/**
 * Ends what an earlier server left running on this host. The kernel ends it with that server; what is left to do is to
 * be certain of it before anybody goes on with its exec.
 */
export async function endSubprocesses(workspace: Workspace, logger: Logger): Promise<void> {
  for (const execId of (await workspace.spooled()) as ExecId[]) {
    const record = await recordIn(workspace, execId);
    const processes = record && processesIn(record.toString('utf8'));
    if (!processes) continue;
    if (!(await killSurely(processes, surelyMs)))
      throw new Error(
        `Processes of exec ${execId} cannot be ended: ${processes.map(({ pid }) => pid).join()}.`,
      );
    logger.info('recovery.subprocess_ended', { exec_id: execId });
  }
}

/** What lies there and is no folder of an exec has none. */
async function recordIn(workspace: Workspace, execId: ExecId): Promise<Buffer | undefined> {
  try {
    return await workspace.readSpooled(execId, recordName);
  } catch (error) {
    if (isErrno(error, 'ENOTDIR') || isErrno(error, 'ELOOP')) return undefined;
    throw error;
  }
}

/** Undefined where it was cut off while it was written: then nothing had been started by it. */
function processesIn(text: string): readonly HostProcess[] | undefined {
  try {
    const processes = JSON.parse(text) as unknown;
    return Array.isArray(processes) ? (processes as HostProcess[]) : undefined;
  } catch {
    return undefined;
  }
}
