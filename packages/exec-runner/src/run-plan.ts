import { chmod } from 'node:fs/promises';
import {
  SecboxError,
  type EndedExec,
  type ErrorCode,
  type ExecStart,
  type ExecSubmission,
} from '@secbox/contracts';
import {
  collectArtifacts,
  Directory,
  mostInputs,
  publishResults,
  setReservedNamesAside,
  within,
  type ExecFolders,
  type InputFile,
  type ProjectInputs,
} from '@secbox/workspace';
import { containerPaths, initPath, type ContainerId, type ContainerSpec } from '@secbox/container-engine';
import { collectingDeadline } from './collecting-deadline.js';
import type { DiskExec } from './disk/disk-limits.js';
import { artifactsOf, inputsOf } from './exec-evidence.js';
import { manifestOf, metaOf } from './exec-documents.js';
import { outcomeOf, StopReason } from './exec-outcome.js';
import { projectOf, type ExecPlan } from './exec-plan.js';
import type { ExecRunnerOptions } from './runner-options.js';
import { OutputFile, outputNames } from './output-file.js';
import type { InputsGuard } from './inputs-guard.js';
import type { Progress } from './progress.js';
import { runContainer } from './run-container.js';
import { pause } from './pause.js';

export interface PlanRun extends Pick<
  ExecRunnerOptions,
  'engine' | 'workspace' | 'logger' | 'dataDir' | 'disk'
> {
  readonly plan: Omit<ExecPlan, 'inputs'>;
  /** To be called once: whoever takes them is the only one who holds their contents. */
  readonly takeInputs: () => readonly InputFile[];
  readonly submission: ExecSubmission;
  readonly stop: AbortSignal;
  /** Ends it before its time: `stop` is aborted with this. */
  readonly end: (reason: StopReason) => void;
  readonly progress: Progress;
  readonly inputsGuard: InputsGuard;
  /** Settles when it is this exec's turn, with what the work then gives. */
  readonly admit: (work: () => Promise<EndedExec>) => Promise<EndedExec>;
  /** Records that it runs: from here on it counts as having run. */
  readonly markRunning: (start: ExecStart) => Promise<void>;
  readonly hasStarted: () => boolean;
  readonly abandon: AbortSignal;
  readonly inBackground: (work: Promise<void>) => void;
  readonly onUncertain: (id: ContainerId, error: unknown) => void;
  readonly onLeftover: (id: ContainerId, error: unknown) => void;
}

const maxArtifactEntries = 10_000;
const maxArtifactDepth = 32;
const maxArtifactPathBytes = 1024 ** 2;

/** From the recorded plan to published results. The row is not touched but to say that it runs. */
export async function runPlan(run: PlanRun): Promise<EndedExec> {
  const { plan, workspace } = run;
  const folders = workspace.foldersOf(plan);
  const inputs = workspace.inputsOf(plan);
  let files = run.takeInputs();
  const entry = {
    stop: run.stop,
    // In its turn, which it takes at once: execs of a project see its inputs in the order in which they came.
    wouldChange: async () => {
      await workspace.prepare(plan);
      return inputs.wouldChange(files);
    },
    write: async () => {
      await within(Directory.open(folders.spool), (staging) => inputs.write(files, staging));
      // They may be megabytes, and it may wait for its turn for long.
      files = [];
      await inputs.list(mostInputs);
    },
  };
  // Waiting for other execs of its project must not keep a place from those of another.
  return run.inputsGuard.during(projectOf(plan), entry, () =>
    run.admit(() =>
      untilStarted(run, () =>
        run.disk.during(diskExecOf(run, folders), () => runWithInputs(run, folders, inputs)),
      ),
    ),
  );
}

const tryAgainMs = 1000;
/** What passes by itself, without a change of the request. */
const passing: readonly ErrorCode[] = ['engine_unavailable', 'disk_full', 'database_unavailable'];

/** An exec that was taken on and has not started goes on waiting where a server would refuse a new one. */
async function untilStarted(run: PlanRun, attempt: () => Promise<EndedExec>): Promise<EndedExec> {
  for (let told = false; ; told = true) {
    try {
      return await attempt();
    } catch (error) {
      const passes = error instanceof SecboxError && passing.includes(error.code);
      if (run.hasStarted() || !passes) throw error;
      if (!told) run.logger.warn('exec.waits', { exec_id: run.plan.execId, error });
    }
    await pause(tryAgainMs, run.stop);
    run.stop.throwIfAborted();
  }
}

async function runWithInputs(run: PlanRun, folders: ExecFolders, inputs: ProjectInputs): Promise<EndedExec> {
  const { plan } = run;
  const queueMs = Math.max(0, Date.now() - Date.parse(run.submission.created_at));
  const waited = { queue_ms: queueMs, start_mode: 'cold' } as const;
  return within(Directory.open(folders.spool), async (spool) => {
    const stdout = await OutputFile.create(
      spool,
      outputNames.stdout,
      plan.policy.values.max_stdout_bytes,
      run.progress,
    );
    const stderr = await OutputFile.create(
      spool,
      outputNames.stderr,
      plan.policy.values.max_stderr_bytes,
      run.progress,
    );
    const handedOver = performance.now();
    let startedAt = new Date();
    const running = runContainer({
      engine: run.engine,
      spec: specOf(run, folders.mounts),
      hasInit: plan.image.hasInit,
      command: plan.command,
      timeoutMs: plan.policy.values.timeout_ms,
      stop: run.stop,
      outputs: { stdout, stderr },
      abandon: run.abandon,
      inBackground: run.inBackground,
      onUncertain: run.onUncertain,
      onLeftover: run.onLeftover,
      onStarting: async (id) => {
        run.stop.throwIfAborted();
        startedAt = new Date();
        await run.markRunning({ started_at: startedAt.toISOString(), ...waited });
        run.disk.started(plan.execId, id);
        run.progress.report();
      },
    });
    const [result, output] = await closing(running, { stdout, stderr });
    const endedAt = new Date();
    run.logger.debug('exec.ran', { exec_id: plan.execId, engine_ms: performance.now() - handedOver });

    return within(openReclaimed(folders.artifacts), async (artifacts) => {
      const setAside = await setReservedNamesAside(artifacts);
      const collection = await collectArtifacts(artifacts, {
        maxBytes: plan.policy.values.max_artifacts_bytes_total,
        maxEntries: maxArtifactEntries,
        maxDepth: maxArtifactDepth,
        maxPathBytes: maxArtifactPathBytes,
        stop: collectingDeadline(run.stop),
      });
      const finished = outcomeOf({
        result,
        stopped: run.stop.reason instanceof StopReason ? run.stop.reason : undefined,
        output,
        artifactsTruncated: collection.truncated,
        startedAt,
        endedAt,
      });
      // Only now: others may have added some while it ran, and it could have seen those too.
      const visible = await inputs.list();
      const evidence = {
        submission: run.submission,
        start: { started_at: startedAt.toISOString(), ...waited },
        finished,
        mounts: folders.mounts,
        inputs: visible,
        output,
        collection,
        setAside,
      };
      await publishResults(spool, artifacts, { manifest: manifestOf(evidence), meta: metaOf(evidence) });
      return {
        ...finished,
        evidence: { inputs: inputsOf(visible), artifacts: artifactsOf(output, collection) },
      };
    });
  });
}

/** The program may have taken our own right to its folder away. */
async function openReclaimed(path: string): Promise<Directory> {
  await chmod(path, 0o755);
  return Directory.open(path);
}

/** Both files are closed whether the run succeeded or not. */
async function closing<T>(running: Promise<T>, outputs: Record<'stdout' | 'stderr', OutputFile>) {
  const [ended] = await Promise.allSettled([running]);
  const [stdout, stderr] = await Promise.all([outputs.stdout.close(), outputs.stderr.close()]);
  if (ended.status === 'rejected') throw ended.reason;
  return [ended.value, { stdout, stderr }] as const;
}

function diskExecOf({ plan, stop, end }: PlanRun, folders: ExecFolders): DiskExec {
  const maxArtifactsBytes = plan.policy.values.max_artifacts_bytes_total;
  return { execId: plan.execId, folders, maxArtifactsBytes, stop, end };
}

function specOf({ plan, dataDir, disk }: PlanRun, mounts: ContainerSpec['mounts']): ContainerSpec {
  const { values } = plan.policy;
  return {
    imageId: plan.image.id,
    runtime: plan.policy.runtime.value,
    ...(plan.image.hasInit ? initProcess : processOf(plan)),
    mounts,
    memoryBytes: values.memory_mb * 1024 ** 2,
    cpus: values.cpu_cores,
    pids: values.pids,
    readOnlyRoot: values.read_only_root,
    maxFileBytes: disk.maxFileBytes(values.max_artifacts_bytes_total),
    owner: { execId: plan.execId, dataDir },
  };
}

/** The engine learns nothing of the command: it travels in band, and with it the values of the environment. */
const initProcess = { command: [initPath], environment: {}, workingDirectory: containerPaths.work } as const;

function processOf({ command }: Pick<ExecPlan, 'command'>) {
  return {
    command: [command.command, ...command.args],
    environment: command.environment,
    workingDirectory: command.cwd,
  };
}
