import type { InvocationEvent, SkillSource } from './skill-source.js';

export interface FollowedCall<Answer> {
  readonly submit: () => Promise<{ readonly exec_id: string }>;
  readonly answer: (execId: string) => Promise<Answer>;
  /** Ends the exec. */
  readonly cancelled: AbortSignal;
  /** Whoever asked is gone; what was asked for goes on. */
  readonly left: AbortSignal;
  readonly onEvent: (event: InvocationEvent) => void;
}

/** Submits and follows to the end; what waits for a human is told at once, as that may take days. */
export async function followCall<Answer>(
  source: Pick<SkillSource, 'follow' | 'cancel'>,
  call: FollowedCall<Answer>,
): Promise<Answer> {
  const { cancelled, left, onEvent } = call;
  const { exec_id: execId } = await call.submit();
  const cancelling = new Promise<void>((resolve, reject) => {
    const cancel = () => void source.cancel(execId).then(() => resolve(), reject);
    if (cancelled.aborted) cancel();
    else cancelled.addEventListener('abort', cancel, { once: true });
  });
  cancelling.catch(() => undefined);
  for await (const event of source.follow(execId, left)) {
    onEvent(event);
    if (event.type === 'state' && event.status === 'awaiting_approval') break;
  }
  left.throwIfAborted();
  if (cancelled.aborted) await cancelling;
  return call.answer(execId);
}
