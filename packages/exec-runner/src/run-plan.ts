import {
  isEphemeralProject,
  shortened,
  type EndedExec,
  type ExecId,
  type ExecStart,
  type ExecSubmission,
  type FreshExec,
} from '@secbox/contracts';
import {
  Directory,
  mostInputs,
  publishResults,
  setReservedNamesAside,
  within,
  type ExecFolders,
  type InputFile,
  type VisibleInput,
} from '@secbox/workspace';
import type { ContainerId } from '@secbox/container-engine';
import { assertAsApproved, isOfAnother } from './approval/expected-inputs.js';
import { clearOldInvocations } from './clear-invocations.js';
import { collectingDeadline } from './collecting-deadline.js';
import type { DiskExec } from './disk/disk-limits.js';
import { collectLeft, openReclaimed } from './exec-artifacts.js';
import { artifactsOf, inputsOf, withGone } from './exec-evidence.js';
import { manifestOf, metaOf } from './exec-documents.js';
import { outcomeOf, StopReason } from './exec-outcome.js';
import { projectOf, type ExecPlan } from './exec-plan.js';
import { DockerExecutor } from './executors/docker-executor.js';
import type { Executor } from './executors/executor.js';
import type { ExecRunnerOptions } from './runner-options.js';
import { OutputFile, outputNames } from './output-file.js';
import type { InputsGuard } from './inputs-guard.js';
import type { LayeredExec } from './layers/layered-work.js';
import { runLayered } from './layers/run-layered.js';
import type { Progress } from './progress.js';
import { onceThereIsRoom, publishSurely } from './publish-surely.js';
import type { OutputContracts } from './skill-output.js';
import { untilStarted } from './until-started.js';

export interface PlanRun extends Pick<
  ExecRunnerOptions,
  'engine' | 'workspace' | 'logger' | 'dataDir' | 'disk' | 'warm' | 'layered' | 'sandboxes'
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
  readonly outputContracts: OutputContracts;
  /** Throws when what it runs is not what was looked at, and is not to run without a human's word. */
  readonly lookAgain: (visible: readonly VisibleInput[]) => Promise<void>;
  /** Settles when it is this exec's turn, with what the work then gives. */
  readonly admit: (work: () => Promise<PlanEnd>) => Promise<PlanEnd>;
  /** Records that it runs: from here on it counts as having run. */
  readonly markRunning: (start: ExecStart) => Promise<void>;
  readonly hasStarted: () => boolean;
  readonly abandon: AbortSignal;
  readonly inBackground: (work: Promise<void>) => void;
  readonly onUncertain: (id: ContainerId, error: unknown) => void;
  readonly onLeftover: (id: ContainerId, error: unknown) => void;
}

/** The end of a plan, and what is at hand of it for whoever waits. */
export interface PlanEnd extends Pick<FreshExec, 'stdout' | 'stderr'> {
  readonly ended: EndedExec;
  readonly start: ExecStart;
}

/** From the recorded plan to published results. The row is not touched but to say that it runs. */
export async function runPlan(run: PlanRun): Promise<PlanEnd> {
  const { plan, workspace } = run;
  const folders = workspace.foldersOf(plan);
  const inputs = workspace.inputsOf(plan);
  let files = run.takeInputs();
  const entry = {
    name: plan.execId,
    stop: run.stop,
    exclusive: plan.expects !== undefined,
    // In its turn, which it takes at once: execs of a project see its inputs in the order in which they came.
    wouldChange: () =>
      untilStarted(run, async () => {
        workspace.prepare(plan, folders);
        return plan.expects !== undefined || inputs.wouldChange(files);
      }),
    write: async (isNeeded: (execId: ExecId) => boolean) => {
      await untilStarted(run, async () => {
        await clearOldInvocations(workspace, plan, isNeeded);
        if (files.length > 0)
          await within(Directory.open(folders.spool), (staging) => inputs.write(files, staging));
      });
      // They may be megabytes, and it may wait for its turn for long.
      files = [];
      const visible = await inputs.list(mostInputs);
      assertAsApproved(plan, visible);
      if (plan.lookedAt) await run.lookAgain(visible);
      return visible.filter(({ path }) => isOfAnother(path, plan.execId));
    },
  };
  // Waiting for other execs of its project must not keep a place from those of another.
  return run.inputsGuard.during(projectOf(plan), entry, (ofOthers, wasAccompanied) =>
    run.admit(async () => {
      // What others brought goes when it is not needed any more, also under an exec that could see it.
      const there = new Set<string>(ofOthers.length === 0 ? [] : await workspace.invocationsIn(plan));
      const before = ofOthers.filter(({ path }) => there.has(path.split('/', 1)[0] ?? ''));
      const around = { seenInputs: async () => withGone(await inputs.list(), before), wasAccompanied };
      return untilStarted(run, () =>
        plan.layer
          ? runLayered(run, plan.layer, { ...diskExecOf(run, folders), folders }, (at, exec) =>
              runWithInputs(run, at, around, exec),
            )
          : run.disk.during(diskExecOf(run, folders), () => runWithInputs(run, folders, around)),
      );
    }),
  );
}

/** What of its project an exec meets beside its own files. */
interface Surroundings {
  readonly seenInputs: () => Promise<VisibleInput[]>;
  /** Whether another exec of the project, which shares its work folder, was there meanwhile. */
  readonly wasAccompanied: () => boolean;
}

async function runWithInputs(
  run: PlanRun,
  folders: ExecFolders,
  { seenInputs, wasAccompanied }: Surroundings,
  layered?: LayeredExec,
): Promise<PlanEnd> {
  const { plan } = run;
  const executor = executorOf(run);
  const queueMs = Math.max(0, Date.now() - Date.parse(run.submission.created_at));
  return within(Directory.open(folders.spool), async (spool) => {
    const { max_stdout_bytes, max_stderr_bytes } = plan.policy.values;
    const { progress } = run;
    const onFull = (error: unknown) => run.logger.error('exec.output_waits', { exec_id: plan.execId, error });
    const stdout = await OutputFile.create(spool, outputNames.stdout, max_stdout_bytes, progress, onFull);
    const stderr = await OutputFile.create(spool, outputNames.stderr, max_stderr_bytes, progress, onFull);
    const handedOver = performance.now();
    let recordingMs = 0;
    let start: ExecStart = { started_at: new Date().toISOString(), queue_ms: queueMs, start_mode: 'cold' };
    const running = executor.run({
      plan,
      mounts: folders.mounts,
      stop: run.stop,
      outputs: { stdout, stderr },
      abandon: run.abandon,
      inBackground: run.inBackground,
      onUncertain: run.onUncertain,
      onLeftover: run.onLeftover,
      onStarting: async ({ processes, mode }) => {
        run.stop.throwIfAborted();
        const now = new Date().toISOString();
        start = { started_at: now, queue_ms: queueMs, start_mode: mode, ...layered?.start };
        const recordedFrom = performance.now();
        await run.markRunning(start);
        recordingMs = performance.now() - recordedFrom;
        run.disk.started(plan.execId, processes);
        run.progress.report();
      },
    });
    const [result, output] = await closing(running, { stdout, stderr });
    const endedAt = new Date();
    // Whoever stops it from here on, while what it left is looked through, stops nothing that runs.
    const stopped = run.stop.reason instanceof StopReason ? run.stop.reason : undefined;
    const effects = layered ? await layered.end(collectingDeadline(run.stop)) : null;
    const engineMs = performance.now() - handedOver - recordingMs;
    run.logger.debug('exec.ran', { exec_id: plan.execId, engine_ms: engineMs });

    return within(openReclaimed(folders.artifacts), async (artifacts) => {
      const maxBytes = plan.policy.values.max_artifacts_bytes_total;
      const waiting = { log: run.logger.child({ exec_id: plan.execId }), abandon: run.abandon };
      // Through the folder that they share, it may have handed another one a file that it had open.
      const staging = wasAccompanied() ? spool : undefined;
      const setAside = setReservedNamesAside(artifacts);
      const collection = await onceThereIsRoom(
        () => collectLeft(artifacts, maxBytes, collectingDeadline(run.stop), staging),
        waiting,
      );
      const outcome = outcomeOf({
        result,
        stopped,
        output,
        artifactsTruncated: collection.truncated,
        startedAt: new Date(start.started_at),
        endedAt,
      });
      const broken =
        plan.skill?.invoked && outcome.status === 'succeeded'
          ? await run.outputContracts.check(plan.skill.invoked, {
              artifacts,
              spool,
              collection,
              stdout: output.stdout,
            })
          : null;
      const finished = { ...outcome, output_error: broken, effects };
      // Only now: others may have added some while it ran, and it could have seen those too.
      const visible = await seenInputs();
      const evidence = {
        submission: run.submission,
        start,
        finished,
        mounts: folders.mounts,
        inputs: visible,
        output,
        collection,
        setAside,
      };
      const documents = { manifest: manifestOf(evidence), meta: metaOf(evidence) };
      await publishSurely({
        publish: () => publishResults(spool, artifacts, documents),
        finished,
        ...waiting,
      });
      const lists = { inputs: inputsOf(visible), artifacts: artifactsOf(output, collection) };
      return {
        ended: { ...finished, effects: effects && shortened(effects), evidence: lists },
        start,
        stdout: stdout.beginning,
        stderr: stderr.beginning,
      };
    });
  });
}

/** Both files are closed whether the run succeeded or not. */
async function closing<T>(running: Promise<T>, outputs: Record<'stdout' | 'stderr', OutputFile>) {
  const [ended] = await Promise.allSettled([running]);
  const [stdout, stderr] = [outputs.stdout.close(), outputs.stderr.close()];
  if (ended.status === 'rejected') throw ended.reason;
  return [ended.value, { stdout, stderr }] as const;
}

function diskExecOf({ plan, stop, end }: PlanRun, folders: ExecFolders): DiskExec {
  const maxArtifactsBytes = plan.policy.values.max_artifacts_bytes_total;
  const withoutDisk = isEphemeralProject(plan.projectId);
  return { execId: plan.execId, folders, maxArtifactsBytes, withoutDisk, stop, end };
}

function executorOf(run: PlanRun): Executor {
  return run.plan.sandbox === 'subprocess' && run.sandboxes
    ? run.sandboxes.subprocess()
    : new DockerExecutor(run);
}
