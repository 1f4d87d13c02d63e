import { execScopeOf, type Principal } from '@secbox/access';
import type { AuditLog } from '@secbox/audit';
import { SecboxError, type ExecId } from '@secbox/contracts';
import type { IncomingMessage } from 'node:http';

export function idempotencyKey(request: Pick<IncomingMessage, 'headers'>): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new SecboxError('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
}

/** What a key stands for already may be an exec of somebody whom the caller does not see. */
export async function assertMayRepeat(
  key: string | undefined,
  { audit, caller, execId }: { audit: Pick<AuditLog, 'sees'>; caller: Principal; execId: ExecId },
): Promise<void> {
  if (key === undefined || (await audit.sees(execScopeOf(caller), execId))) return;
  throw new SecboxError(
    'idempotency_key_reused',
    'This Idempotency-Key was used for another request before.',
  );
}
