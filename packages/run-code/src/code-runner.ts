import type { AuditLog } from '@secbox/audit';
import {
  ephemeralProject,
  isFinal,
  SecboxError,
  type CodeLanguage,
  type ExecAnswer,
  type ExecId,
  type ExecRecord,
  type FreshExec,
  type RiskReport,
  type RunCodeAnswer,
  type RunCodeRequest,
} from '@secbox/contracts';
import type { Caller, ExecRunner, IntakeLimits, SubmittedExec } from '@secbox/exec-runner';
import type { RiskAssessor } from '@secbox/risk';
import { codeOf, commandOf } from './code-command.js';

export interface CodeRunnerOptions {
  readonly runner: Pick<ExecRunner, 'submit' | 'openIntake'>;
  readonly audit: Pick<AuditLog, 'answer' | 'answerFresh'>;
  readonly assessor: Pick<RiskAssessor, 'assess'>;
  readonly limits: IntakeLimits;
}

/** A shell would say the same of a program that is not there. */
const noProgram = 127;

/** How many reports are kept; one has some tens of kilobytes at most. */
const mostReports = 256;

/** Makes an exec of code, and an answer of what came of it. */
export class CodeRunner {
  readonly #options: CodeRunnerOptions;
  /** Of the latest runs. */
  readonly #reports = new Map<ExecId, Promise<RiskReport>>();

  constructor(options: CodeRunnerOptions) {
    this.#options = options;
  }

  /** Records the run and lets it start; throws when it is refused. */
  async submit(
    caller: Caller,
    request: RunCodeRequest,
    { idempotencyKey }: { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<SubmittedExec> {
    const { runner, limits } = this.#options;
    const { code, language, timeout, project_id, task_ref } = request;
    const intake = runner.openIntake(limits);
    try {
      return await runner.submit(
        {
          project_id: project_id ?? ephemeralProject(intake.execId),
          exec: commandOf(language, code),
          ...(timeout === undefined ? {} : { policy_overrides: { timeout_ms: Math.ceil(timeout * 1000) } }),
          ...(task_ref && { task_ref }),
        },
        { caller, idempotencyKey, intake },
      );
    } catch (error) {
      await intake.discard();
      throw error;
    }
  }

  /**
   * How dangerous the code of a run looks: advice, which never fails. Asked for early, it is there when the code has run.
   * Looked at once, however often whoever waits for the run asks about it.
   */
  assess(execId: ExecId, { code, language }: Pick<RunCodeRequest, 'code' | 'language'>): Promise<RiskReport> {
    const known = this.#reports.get(execId);
    if (known) return known;
    const report = this.#options.assessor.assess({ code, language });
    this.#reports.set(execId, report);
    const [oldest] = this.#reports.keys();
    if (this.#reports.size > mostReports && oldest !== undefined) this.#reports.delete(oldest);
    const forget = () => this.#reports.delete(execId);
    report.then(({ findings }) => {
      // Nobody had time for it; somebody may, the next time.
      if (findings.some(({ rule }) => rule === 'cannot-tell.busy')) forget();
    }, forget);
    return report;
  }

  /** What a run gave so far; throws when the exec is none. */
  async answer(exec: ExecRecord): Promise<RunCodeAnswer> {
    return this.#answer(exec, await this.#options.audit.answer(exec));
  }

  /** The same, of one that is still at hand. */
  async answerFresh(exec: FreshExec): Promise<RunCodeAnswer> {
    return this.#answer(exec.record, this.#options.audit.answerFresh(exec));
  }

  async #answer(exec: ExecRecord, left: ExecAnswer): Promise<RunCodeAnswer> {
    const ran = codeOf(exec);
    if (!ran)
      throw new SecboxError('exec_not_found', `There is no exec ${exec.exec_id} that is a run of code.`);
    const { exec_id, project_id, status, exit_code, sandbox_type, duration_ms } = exec;
    const { stdout, stderr, artifacts, artifacts_complete, artifacts_url } = left;
    return {
      exec_id,
      project_id,
      language: ran.language,
      status,
      success: status === 'succeeded',
      stdout,
      stderr,
      exit_code,
      error: errorOf(exec, ran.language),
      sandbox_type,
      risk: await this.assess(exec_id, ran),
      artifacts,
      artifacts_complete,
      artifacts_url,
      stdout_truncated: exec.stdout_truncated,
      stderr_truncated: exec.stderr_truncated,
      duration_ms,
      exec_url: `/sandbox/execs/${exec_id}`,
      events_url: `/sandbox/execs/${exec_id}/events`,
    };
  }
}

function errorOf(exec: ExecRecord, language: CodeLanguage): string | null {
  const { status, exit_code, error_reason, image, cmd, signal } = exec;
  if (!isFinal(status) || status === 'succeeded') return null;
  // Said by what starts the program; a program that exits with 127 itself gives no reason.
  if (exit_code === noProgram && error_reason !== null) {
    return `The image ${image} has no ${cmd}: code in ${language} cannot run in it.`;
  }
  if (error_reason !== null) return error_reason;
  switch (status) {
    case 'failed':
      return signal === null ? `It exited with ${exit_code}.` : `It was ended by ${signal}.`;
    case 'timed_out':
      return 'It ran out of time.';
    case 'oom_killed':
      return 'It ran out of memory.';
    case 'cancelled':
    case 'rejected':
    case 'error':
      return `It is ${status}.`;
  }
}
