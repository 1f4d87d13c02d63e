import { SecboxError, type ExecSubmission } from '@secbox/contracts';
import { mergePolicy } from '@secbox/policy';
import { canonicalJson } from './canonical-json.js';
import { recorded } from './exec-failure.js';
import type { ExecOrder } from './exec-order.js';
import { withoutResult } from './exec-outcome.js';
import { decidedIn, planExec, submissionOf, type ExecPlan } from './exec-plan.js';
import { limitsOfLayer } from './layers/planned-layer.js';
import type { ExecRunnerOptions } from './runner-options.js';
import { imageOf } from './skill-run.js';

export interface RequestIdentity {
  readonly idempotencyKey: string | null;
  readonly requestHash: string;
}

/** Decides what becomes of a request: in which image, under which policy, with which command. */
export class Planner {
  readonly #options: ExecRunnerOptions;

  constructor(options: ExecRunnerOptions) {
    this.#options = options;
  }

  async plan(order: ExecOrder, identity: RequestIdentity): Promise<ExecPlan> {
    const { capacity, policySettings } = this.#options;
    const settings = policySettings();
    const known = imageOf(this.#options, order.skill);
    const image = await known.find();
    const manifest = order.layer ? limitsOfLayer({ engine: capacity, settings }) : order.skill?.limits;
    const planWith = (overrides: unknown) =>
      planExec(order, {
        imageReference: known.reference,
        image,
        policy: mergePolicy({ engine: capacity, settings, manifest, overrides }),
      });
    try {
      const plan = planWith(order.request.policy_overrides);
      return this.#options.sandboxes ? await this.#options.sandboxes.choose(plan) : plan;
    } catch (error) {
      // Asking for more than is allowed is worth an auditor's look: it gets a row, under the policy it tried to leave.
      if (error instanceof SecboxError && error.code === 'policy_exceeded') {
        throw await this.#reject(planWith({}), identity, error);
      }
      throw error;
    }
  }

  /** What is recorded of it before it runs. */
  submissionOf(plan: ExecPlan, { idempotencyKey, requestHash }: RequestIdentity, now: Date): ExecSubmission {
    const { workspace, vault } = this.#options;
    return submissionOf(plan, {
      artifacts_path: workspace.artifactsFolder(plan),
      idempotency_key: idempotencyKey,
      request_hash: requestHash,
      plan_hash: vault.fingerprint(canonicalJson(decidedIn(plan))),
      created_at: now.toISOString(),
    });
  }

  async #reject(plan: ExecPlan, identity: RequestIdentity, error: SecboxError): Promise<SecboxError> {
    const { records } = this.#options;
    const now = new Date();
    // The key stays free: the same request may be allowed under other Settings.
    const submission = this.submissionOf(plan, { ...identity, idempotencyKey: null }, now);
    await recorded(records.insert(submission));
    await recorded(records.finish(plan.execId, withoutResult('rejected', error.message, now)));
    return new SecboxError(error.code, error.message, {
      details: { ...error.details, exec_id: plan.execId },
    });
  }
}
