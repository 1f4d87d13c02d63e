import type { Principal } from '@secbox/access';
import type { ApprovalNews, Approvals, ConfirmationService } from '@secbox/approvals';
import {
  approvalDecisionSchema,
  parseExecId,
  SecboxError,
  type ApprovalDecision,
  type TenantId,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import type { Request, Response } from 'express';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { isForTheLog } from '../answer-errors.js';
import type { Upgrade } from '../upgrades.js';
import { validatorOf } from '../validate.js';

export interface ApprovalSocketsOptions {
  readonly approvals: Pick<Approvals, 'list' | 'decide'>;
  readonly logger: Logger;
  readonly pingMs?: number;
}

/** One who follows what waits. */
interface Follower {
  readonly socket: WebSocket;
  readonly caller: Principal;
  readonly address: string | null;
  /** Each counts as a request of the key; throws when it was one too many. */
  readonly countMessage: () => void;
  /** Who decides, looked up anew: a key may have ended since the line was opened. Throws when it is not for them. */
  readonly admit: () => Promise<Principal>;
  alive: boolean;
}

/** What a follower may send: its own name for it, and a decision. */
interface DecideMessage extends ApprovalDecision {
  readonly type: 'decide';
  readonly id?: string;
  readonly approval_id: string;
}

const protocol = 'secbox.approvals.v1';
const mostOfTenant = 100;
const firstPage = 1000;
const maxMessageBytes = 16 * 1024;
/** Past this, whoever does not read is let go. */
const mostBufferedBytes = 1024 ** 2;
const usualPingMs = 30_000;

const { $id: _, properties, ...decision } = approvalDecisionSchema;
const messageSchema = {
  ...decision,
  required: [...decision.required, 'type', 'approval_id'],
  properties: {
    ...properties,
    type: { const: 'decide' },
    id: { type: 'string', maxLength: 128 },
    approval_id: { type: 'string', maxLength: 64 },
  },
} as const;

/** Approvers hear live of what waits for them, each of their own tenant, and may decide on the same line. */
export class ApprovalSockets implements ConfirmationService {
  readonly #options: ApprovalSocketsOptions;
  readonly #followers = new Set<Follower>();
  readonly #validate = validatorOf<DecideMessage>(messageSchema);
  readonly #server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
    // Never what holds the key.
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
  });
  readonly #pings: NodeJS.Timeout;

  constructor(options: ApprovalSocketsOptions) {
    this.#options = options;
    this.#pings = setInterval(() => this.#ping(), options.pingMs ?? usualPingMs).unref();
  }

  /** Takes a connection over from its request, which was let in. */
  accept(
    request: Request,
    response: Response,
    upgrade: Upgrade,
    who: Pick<Follower, 'caller' | 'countMessage' | 'admit'>,
  ): void {
    const { tenant } = who.caller;
    if ([...this.#followers].filter(({ caller }) => caller.tenant === tenant).length >= mostOfTenant) {
      throw new SecboxError(
        'too_many_sessions',
        `${mostOfTenant} follow the approvals of this tenant already.`,
      );
    }
    response.detachSocket(request.socket);
    // Whoever guards the key of this request has nothing to guard any more.
    upgrade.socket.once('close', () => response.emit('close'));
    this.#server.handleUpgrade(request, upgrade.socket, upgrade.head, (socket) => {
      const follower = { ...who, socket, address: request.ip ?? null, alive: true };
      this.#followers.add(follower);
      socket.on('pong', () => {
        follower.alive = true;
      });
      socket.on('error', () => socket.terminate());
      socket.on('close', () => this.#followers.delete(follower));
      this.#take(follower);
    });
  }

  announce(news: ApprovalNews): void {
    for (const follower of this.#followers) {
      if (follower.caller.tenant === news.approval.tenant) send(follower, news);
    }
  }

  close(): void {
    clearInterval(this.#pings);
    for (const { socket } of this.#followers) {
      socket.close(1001, 'the server stops');
      setTimeout(() => socket.terminate(), 500).unref();
    }
  }

  /** What waits already, and then what is sent, one after the other. */
  #take(follower: Follower): void {
    let last: Promise<unknown> = this.#greet(follower.caller.tenant, follower);
    follower.socket.on('message', (data, isBinary) => {
      follower.socket.pause();
      last = last.then(async () => {
        await this.#answer(follower, data, isBinary);
        follower.socket.resume();
      });
    });
  }

  async #greet(tenant: TenantId, follower: Follower): Promise<void> {
    try {
      const { approvals } = await this.#options.approvals.list(tenant, {
        state: 'pending',
        limit: firstPage,
      });
      send(follower, { type: 'approvals.pending', approvals });
    } catch (error) {
      this.#options.logger.warn('approval.socket_failed', { error });
      follower.socket.close(1011, 'the database does not answer');
    }
  }

  async #answer(follower: Follower, data: RawData, isBinary: boolean): Promise<void> {
    const { address, countMessage, admit } = follower;
    let id: string | undefined;
    try {
      const message = parse(data, isBinary);
      id = idIn(message);
      countMessage();
      const { type: _type, id: _id, approval_id, ...decided } = this.#validate(message);
      const { tenant, actor } = await admit();
      const execId = parseExecId(approval_id, 'approval_id');
      const {
        plan: _plan,
        risk: _risk,
        ...approval
      } = await this.#options.approvals.decide({ tenant, actor, address }, execId, decided);
      send(follower, { type: 'decided', id, approval });
    } catch (error) {
      if (isForTheLog(error)) this.#options.logger.warn('approval.socket_failed', { error });
      send(follower, { type: 'error', id, error: toldOf(error) });
    }
  }

  #ping(): void {
    for (const follower of this.#followers) {
      if (!follower.alive) follower.socket.terminate();
      follower.alive = false;
      follower.socket.ping();
    }
  }
}

function send({ socket }: Follower, message: object): void {
  if (socket.readyState !== socket.OPEN) return;
  if (socket.bufferedAmount > mostBufferedBytes) socket.terminate();
  else socket.send(JSON.stringify(message));
}

function parse(data: RawData, isBinary: boolean): unknown {
  try {
    if (!isBinary && Buffer.isBuffer(data)) return JSON.parse(data.toString('utf8'));
  } catch {
    // Told below, as any other message that is none.
  }
  throw new SecboxError('malformed_json', 'A message is JSON, as text.');
}

function idIn(message: unknown): string | undefined {
  const { id } = (message ?? {}) as { readonly id?: unknown };
  return typeof id === 'string' ? id.slice(0, 128) : undefined;
}

function toldOf(error: unknown) {
  if (!(error instanceof SecboxError)) {
    return { kind: 'internal', code: 'internal_error', message: 'It could not be decided now.' };
  }
  const { kind, code, message, details } = error;
  return { kind, code, message, ...(details && { details }) };
}
