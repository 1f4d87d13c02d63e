import type { SecurityLog } from '@secbox/access';
import {
  Approvals,
  AutoApprove,
  Webhook,
  type ApprovalRecords,
  type WebhookDeliveries,
} from '@secbox/approvals';
import { SecboxError, webhookOf, type ApprovalSettings } from '@secbox/contracts';
import { ShownInputs, type Vault } from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import type { RiskAssessor } from '@secbox/risk';
import type { Workspace } from '@secbox/workspace';
import { ApprovalSockets } from './approval-sockets.js';

export interface ApprovalParts {
  readonly records: ApprovalRecords;
  readonly deliveries: WebhookDeliveries;
  readonly workspace: Workspace;
  readonly vault: Vault;
  readonly assessor: RiskAssessor;
  readonly settings: () => ApprovalSettings | undefined;
  readonly securityLog: Pick<SecurityLog, 'refused'>;
  readonly logger: Logger;
  readonly webhookSecret: string | undefined;
}

export interface OpenedApprovals {
  readonly approvals: Approvals;
  readonly sockets: ApprovalSockets;
  readonly shownInputs: ShownInputs;
  /** Goes on with what the server before had not told everybody, and settles when code can be looked at, if it will be. */
  readonly resumeServices: () => Promise<void>;
  readonly closeServices: () => Promise<void>;
}

/** Approvals, with those who are told of them. */
export function openApprovals(parts: ApprovalParts): OpenedApprovals {
  const { records, deliveries, assessor, settings, securityLog, logger, webhookSecret: secret } = parts;
  const now = () => new Date();
  const canAssess = asksByLevel(settings()) ? assessor.ready() : undefined;
  const webhook = new Webhook({
    url: (tenant) => webhookOf(settings(), tenant),
    isOwn: (tenant) => hasOwnWebhook(settings(), tenant),
    secret,
    deliveries,
    logger,
    now,
  });
  const approvals = new Approvals({
    records,
    assessor,
    settings,
    logger,
    now,
    delivery: (tenant) => webhook.newDelivery(tenant),
    onRefused: ({ tenant, actor, address }) => {
      const reason = 'decides on an exec that it asked for';
      securityLog.refused({ type: 'access_refused', tenant, actor, address, reason });
    },
  });
  approvals.addService(
    new AutoApprove({
      isOn: () => settings()?.auto_approve === true,
      approve: (approval) => approvals.approveAutomatically(approval),
      logger,
    }),
  );
  const sockets = new ApprovalSockets({ approvals, logger });
  approvals.addService(sockets);
  approvals.addService(webhook);
  const closeServices = async () => {
    approvals.close();
    sockets.close();
    await webhook.close();
  };
  const resumeServices = async () => {
    await webhook.resume();
    await canAssess;
  };
  const shownInputs = new ShownInputs({ ...parts, approvals });
  return { approvals, sockets, shownInputs, resumeServices, closeServices };
}

/** Throws when Settings ask for what this server cannot do. */
export function checkApprovals(
  settings: ApprovalSettings | undefined,
  webhookSecret: string | undefined,
): void {
  const tenants = Object.entries(settings?.tenants ?? {});
  checkWebhook('approvals.webhook_url', settings?.webhook_url, webhookSecret);
  for (const [tenant, { webhook_url }] of tenants)
    checkWebhook(`approvals.tenants.${tenant}.webhook_url`, webhook_url, webhookSecret);
}

function hasOwnWebhook(settings: ApprovalSettings | undefined, tenant: string): boolean {
  const tenants = settings?.tenants ?? {};
  return Object.hasOwn(tenants, tenant) && typeof tenants[tenant]?.webhook_url === 'string';
}

function checkWebhook(setting: string, url: string | null | undefined, secret: string | undefined): void {
  if (url === undefined || url === null) return;
  if (!URL.canParse(url)) {
    throw new SecboxError('invalid_setting', `${setting} is not a URL.`, { details: { setting } });
  }
  if (secret !== undefined) return;
  const why = 'what is sent must be signed, and the server has no SECBOX_WEBHOOK_SECRET to sign it with.';
  throw new SecboxError('invalid_setting', `${setting}: ${why}`, { details: { setting } });
}

/** Whether what execs do is looked at before they run. */
function asksByLevel(settings: ApprovalSettings | undefined): boolean {
  const rules = [settings, ...Object.values(settings?.tenants ?? {})];
  return rules.some((rule) => (rule?.from_level ?? null) !== null);
}

/** What an operator should know of it. */
export function approvalWarnings(settings: ApprovalSettings | undefined): readonly string[] {
  if (settings?.auto_approve !== true) return [];
  return ['approvals: auto_approve is on: what a human should agree to runs without one.'];
}
