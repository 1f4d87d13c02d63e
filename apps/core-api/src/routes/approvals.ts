import type { ApiKeys, Principal, SecurityLog } from '@secbox/access';
import type { Approvals } from '@secbox/approvals';
import { fileNameOf, nameOf, parseArtifactPath } from '@secbox/audit';
import {
  approvalDecisionSchema,
  approvalListQuerySchema,
  parseExecId,
  SecboxError,
  type ApprovalDecision,
  type ApprovalListQuery,
} from '@secbox/contracts';
import type { ShownInputs } from '@secbox/exec-runner';
import type { Request } from 'express';
import type { ApprovalSockets } from '../approvals/approval-sockets.js';
import { admit } from '../door.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { jsonBody } from '../json-body.js';
import { assertWithinRate, type KeyRate } from '../key-rate.js';
import { queryReader } from '../read-query.js';
import { routeAccess, type RouteName } from '../route-access.js';
import { sendFile } from '../send-file.js';
import type { Upgrades } from '../upgrades.js';
import { validatorOf } from '../validate.js';

export interface ApprovalRoutesOptions {
  readonly approvals: Pick<Approvals, 'list' | 'find' | 'decide'>;
  readonly shownInputs: Pick<ShownInputs, 'open'>;
  readonly approvalSockets: Pick<ApprovalSockets, 'accept'>;
  readonly upgrades: Pick<Upgrades, 'take'>;
  readonly keys: Pick<ApiKeys, 'authenticate'>;
  readonly securityLog: Pick<SecurityLog, 'refused'>;
  readonly rate: KeyRate;
}

const maxBodyBytes = 64 * 1024;
const decide = 'POST /approvals/{approval_id}/decision';

/** What waits for a human's word, and the word. */
export function approvalRoutes(
  routes: GuardedRoutes<RouteName>,
  { approvals, shownInputs, approvalSockets, upgrades, keys, securityLog: log, rate }: ApprovalRoutesOptions,
): void {
  const readList = queryReader<ApprovalListQuery>(approvalListQuerySchema);
  const validate = validatorOf<ApprovalDecision>(approvalDecisionSchema);

  /** The caller as its key is worth now. */
  const stillHolding = async (caller: Principal, request: Request): Promise<Principal> => {
    const { tenant, actor } = caller;
    // Where callers are not told apart there is no key that could end.
    if (actor === null) return caller;
    const found = await keys.authenticate(keySentWith(request));
    if ('principal' in found) return found.principal;
    const address = request.ip ?? null;
    log.refused({ type: 'login_refused', tenant, actor, address, reason: found.refused });
    throw new SecboxError('unauthenticated', 'The key of this line does not hold any more.');
  };

  routes.on('GET /approvals', async (request, response, { tenant }) => {
    response.setHeader('cache-control', 'no-store').json(await approvals.list(tenant, readList(request)));
  });

  // Before the next, which takes any name.
  routes.on('GET /approvals/live', (request, response, caller) => {
    const upgrade = upgrades.take(request);
    if (!upgrade) {
      response.setHeader('upgrade', 'websocket');
      throw new SecboxError('upgrade_required', 'This is a WebSocket.');
    }
    const address = request.ip ?? null;
    approvalSockets.accept(request, response, upgrade, {
      caller,
      countMessage: () => assertWithinRate(rate(caller)),
      admit: async () => {
        const now = await stillHolding(caller, request);
        admit(now, routeAccess[decide], { route: decide, address, log });
        return now;
      },
    });
  });

  routes.on('GET /approvals/{approval_id}', async (request, response, { tenant }) => {
    response.setHeader('cache-control', 'no-store').json(await approvals.find(tenant, approvalIdIn(request)));
  });

  routes.on('GET /approvals/{approval_id}/inputs/{path}', async (request, response, { tenant }) => {
    const [, , id = '', , ...encoded] = request.path.split('/');
    const execId = parseExecId(id, 'approval_id');
    const path = parseArtifactPath(encoded.join('/'));
    const name = nameOf(path);
    // Asked for by the name that it is shown under, which is text.
    const opened = await shownInputs.open(tenant, execId, 'path' in name ? name.path : '');
    const sent = { ...opened, mediaType: 'application/octet-stream' };
    await sendFile(request, response, sent, fileNameOf(path));
  });

  routes.on(
    decide,
    async (request, response, { tenant, actor }) => {
      const caller = { tenant, actor, address: request.ip ?? null };
      response.json(await approvals.decide(caller, approvalIdIn(request), validate(request.body)));
    },
    jsonBody(maxBodyBytes),
  );
}

/** The key that the door let in, from the same headers; what is read otherwise holds for nobody. */
function keySentWith({ headers }: Request): string | undefined {
  const { authorization, 'x-api-key': key } = headers;
  if (authorization !== undefined) return /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  return typeof key === 'string' ? key : undefined;
}

/** An approval has the id of its exec. */
function approvalIdIn(request: Request) {
  return parseExecId(String(request.params['approval_id']), 'approval_id');
}
