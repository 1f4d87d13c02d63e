import type { ApprovalSummary } from '@secbox/contracts';

/** What happened to a request for a human's word. */
export interface ApprovalNews {
  readonly type: 'approval.requested' | 'approval.settled';
  readonly approval: ApprovalSummary;
}

/** A way in which those who decide, or those who asked, hear of it. It never fails; who decides at once is waited for. */
export interface ConfirmationService {
  /** `delivery` is the name under which a webhook is to be told, where there is one. */
  announce(news: ApprovalNews, delivery?: string): Promise<void> | void;
}
