import type { ApprovalSummary } from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { ApprovalNews, ConfirmationService } from './confirmation-service.js';

export interface AutoApproveOptions {
  /** As Settings have it at this moment. */
  readonly isOn: () => boolean;
  readonly approve: (approval: ApprovalSummary) => Promise<unknown>;
  readonly logger: Logger;
}

/** For development: agrees to everything at once. The row says that nobody looked. */
export class AutoApprove implements ConfirmationService {
  readonly #options: AutoApproveOptions;

  constructor(options: AutoApproveOptions) {
    this.#options = options;
  }

  async announce({ type, approval }: ApprovalNews): Promise<void> {
    const { isOn, approve, logger } = this.#options;
    if (type !== 'approval.requested' || !isOn()) return;
    try {
      await approve(approval);
    } catch (error) {
      logger.warn('approval.not_auto_approved', { exec_id: approval.exec_id, error });
    }
  }
}
