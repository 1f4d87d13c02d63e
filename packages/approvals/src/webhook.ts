import { createHmac, randomUUID } from 'node:crypto';
import type { Logger } from '@secbox/logging';
import type { ApprovalNews, ConfirmationService } from './confirmation-service.js';
import { newsOf, type PendingDelivery, type WebhookDeliveries } from './webhook-deliveries.js';

export interface WebhookOptions {
  /** Where to for a tenant, as Settings have it at this moment; undefined: nowhere. */
  readonly url: (tenant: string) => string | undefined;
  /** Whether that is an address of the tenant's own, whose receiver is to know nothing that holds for others. */
  readonly isOwn: (tenant: string) => boolean;
  /** Shared with whoever receives for all; a tenant's own receiver has `webhookKey` of it. */
  readonly secret: string | undefined;
  readonly deliveries: WebhookDeliveries;
  readonly logger: Logger;
  readonly now: () => Date;
  /** How long to wait before each further try. */
  readonly delaysMs?: readonly number[];
  readonly answerMs?: number;
  readonly mostUnderway?: number;
}

const usualDelaysMs = [1000, 5000, 25_000, 125_000, 625_000];
const usualAnswerMs = 10_000;
/** Of one tenant; further ones wait as they are written, so that nobody's receiver keeps others from hearing. */
const usualMostUnderway = 1000;
/** Older ones are given up when what is written is read: whoever receives has long asked for what matters. */
const oldestMs = 24 * 3_600_000;
const readAgainMs = 1000;

/**
 * Tells a server of one's own what waits and what became of it: signed, and tried again until it is taken, also by the
 * next server. What is to be told is written with what it tells of, under a name, and gone when it was taken.
 */
export class Webhook implements ConfirmationService {
  readonly #options: WebhookOptions;
  readonly #closing = new AbortController();
  /** Of each tenant, by their names: what is told already is not begun again. */
  readonly #underway = new Map<string, Map<string, Promise<void>>>();
  /** Tenants for whom more may be written than is under way. */
  readonly #behind = new Set<string>();
  readonly #catchingUp = new Set<Promise<void>>();

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  /** A name for what is to be told next; undefined where nobody is to be told. */
  newDelivery(tenant: string): string | undefined {
    const { url, secret } = this.#options;
    return url(tenant) === undefined || secret === undefined ? undefined : randomUUID();
  }

  announce({ type, approval }: ApprovalNews, delivery?: string): void {
    if (delivery === undefined) return;
    this.#begin({ delivery, type, approval, tries: 0, next_at: this.#options.now().toISOString() });
  }

  /** Goes on with what the server before left behind. */
  async resume(): Promise<void> {
    const { url, deliveries } = this.#options;
    await this.#dropOld();
    for (const tenant of await deliveries.tenants()) {
      if (url(tenant) === undefined) continue;
      await this.#beginWritten(tenant);
    }
  }

  /** What is not taken by now is left to the next server. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#underway.values()].flatMap((underway) => [...underway.values()]));
    await Promise.all(this.#catchingUp);
  }

  #begin(pending: PendingDelivery): void {
    const { secret, logger, mostUnderway = usualMostUnderway } = this.#options;
    const { delivery, approval } = pending;
    const { tenant } = approval;
    const underway = this.#underway.get(tenant) ?? new Map<string, Promise<void>>();
    if (secret === undefined || this.#closing.signal.aborted || underway.has(delivery)) return;
    if (underway.size >= mostUnderway) {
      this.#behind.add(tenant);
      return;
    }
    const delivering = this.#deliver(pending, secret)
      .catch((error: unknown) => {
        // Its row is still there: it is told again rather than lost.
        logger.warn('webhook.not_noted', { delivery, error });
      })
      .finally(() => {
        underway.delete(delivery);
        if (underway.size === 0) this.#underway.delete(tenant);
        if (underway.size <= mostUnderway / 2 && this.#behind.delete(tenant)) this.#catchUp(tenant);
      });
    underway.set(delivery, delivering);
    this.#underway.set(tenant, underway);
  }

  #catchUp(tenant: string): void {
    const catchingUp = this.#beginSurely(tenant).finally(() => this.#catchingUp.delete(catchingUp));
    this.#catchingUp.add(catchingUp);
  }

  async #beginSurely(tenant: string): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        await this.#dropOld();
        await this.#beginWritten(tenant);
        return;
      } catch (error) {
        this.#options.logger.warn('webhook.not_read', { tenant, error });
      }
      await this.#pause(readAgainMs);
    }
  }

  /** The oldest of what is written for a tenant, as much as may be under way. */
  async #beginWritten(tenant: string): Promise<void> {
    const { deliveries, mostUnderway = usualMostUnderway } = this.#options;
    const written = await deliveries.pending(mostUnderway, tenant);
    for (const pending of written) this.#begin(pending);
    if (written.length === mostUnderway) this.#behind.add(tenant);
  }

  async #dropOld(): Promise<void> {
    const { deliveries, logger, now } = this.#options;
    const dropped = await deliveries.dropOlder(new Date(now().getTime() - oldestMs).toISOString());
    if (dropped > 0) logger.error('webhook.given_up_old', { deliveries: dropped });
  }

  async #deliver(pending: PendingDelivery, secret: string): Promise<void> {
    const { url, isOwn, deliveries, logger, now, delaysMs = usualDelaysMs } = this.#options;
    const { delivery } = pending;
    const about = { exec_id: pending.approval.exec_id, delivery };
    const body = JSON.stringify({ delivery, ...newsOf(pending) });
    const isClosing = () => this.#closing.signal.aborted;
    const longestMs = Math.max(0, ...delaysMs);
    await this.#pause(Math.min(Date.parse(pending.next_at) - now().getTime(), longestMs));
    for (let tries = pending.tries + 1; !isClosing(); tries += 1) {
      const { tenant } = pending.approval;
      const to = url(tenant);
      const key = isOwn(tenant) ? webhookKey(secret, tenant) : secret;
      const problem = to === undefined ? 'Settings name no URL' : await this.#send(to, key, delivery, body);
      if (problem === undefined) {
        await deliveries.remove(delivery);
        return;
      }
      if (isClosing()) return;
      const delayMs = delaysMs[tries - 1];
      if (delayMs === undefined) {
        logger.error('webhook.given_up', { ...about, tries, problem });
        await deliveries.remove(delivery);
        return;
      }
      logger.warn('webhook.failed', { ...about, tries, problem });
      await deliveries.postpone(delivery, tries, new Date(now().getTime() + delayMs).toISOString());
      await this.#pause(delayMs);
    }
  }

  /** Undefined when it was taken. */
  async #send(url: string, key: string, delivery: string, body: string): Promise<string | undefined> {
    const seconds = Math.floor(this.#options.now().getTime() / 1000);
    const deadline = AbortSignal.timeout(this.#options.answerMs ?? usualAnswerMs);
    try {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'error',
        signal: AbortSignal.any([deadline, this.#closing.signal]),
        headers: {
          'content-type': 'application/json',
          'secbox-delivery': delivery,
          'secbox-signature': `t=${seconds},v1=${webhookSignature(key, seconds, body)}`,
        },
        body,
      });
      await response.body?.cancel();
      return response.ok ? undefined : `it answered ${response.status}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing;
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, ms).unref();
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) end();
    });
  }
}

/** What a tenant's own receiver is given: it tells neither the secret nor the key of another tenant. */
export function webhookKey(secret: string, tenant: string): string {
  return createHmac('sha256', secret).update(`secbox-webhook:${tenant}`).digest('hex');
}

/** Of the moment and the body, so that neither can be changed nor an old one sent again unnoticed. */
export function webhookSignature(key: string, seconds: number, body: string): string {
  return createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex');
}
