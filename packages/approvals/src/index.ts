export { Approvals, type Decider, type HeldExec, type Settled } from './approvals.js';
export type { ApprovalRecords, Settlement } from './approval-records.js';
export type { ApprovalSubject, Requirement } from './approval-rules.js';
export { AutoApprove } from './auto-approve.js';
export type { ApprovalNews, ConfirmationService } from './confirmation-service.js';
export type { Assessed, NeededWord } from './needed-word.js';
export type { PendingDelivery, WebhookDeliveries } from './webhook-deliveries.js';
export { Webhook, webhookKey, webhookSignature, type WebhookOptions } from './webhook.js';
