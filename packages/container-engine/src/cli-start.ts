import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { ContainerState } from './cli-answers.js';
import type { Carrier, CliAttachment } from './cli-attachment.js';
import { cliFailure, programFailure } from './cli-failure.js';
import { messageOf, type DockerProgram } from './cli-process.js';
import type { ContainerId } from './container-engine.js';

/** A silent container is asked after this often: an answer costs about a tenth of it. */
const pollMs = 200;

/**
 * Starts a container with its streams on the attachment, and settles when it runs or has run. The docker
 * program does not tell when that is, so we take the first of: a byte on stdout, where the program itself
 * never writes; the program's success; the engine's word for it. Under our init it is always the byte.
 */
export async function startAttached(
  docker: DockerProgram,
  id: ContainerId,
  attachment: CliAttachment,
  stateOf: (id: ContainerId) => Promise<ContainerState>,
): Promise<void> {
  try {
    // There are no `--detach-keys`: without a terminal neither the program nor the engine looks for any.
    const carrier = attachment.carriedBy(docker.stream(['start', '--attach', '--interactive', '--', id]));
    await untilStarted(carrier, async () => (await stateOf(id)).status !== 'created');
    attachment.confirm(carrier);
  } catch (error) {
    attachment.close(error);
    throw error;
  }
}

async function untilStarted({ child, end }: Carrier, hasStarted: () => Promise<boolean>): Promise<void> {
  const over = new AbortController();
  try {
    const spoke = firstByte(child.stdout, over.signal);
    for (;;) {
      const poll = pause(pollMs, 'poll' as const, { signal: over.signal });
      const event = await Promise.race([spoke, end, poll.catch(() => 'poll' as const)]);
      if (event === 'spoke') return;
      if (event === 'poll') {
        if (await hasStarted()) return;
        continue;
      }
      if (event.error !== undefined) throw programFailure('start', event.error);
      if (event.code === 0 || (await hasStarted())) return;
      throw cliFailure('start', event, await messageOf(child.stderr));
    }
  } finally {
    over.abort();
  }
}

function firstByte(stdout: Readable, over: AbortSignal): Promise<'spoke'> {
  return new Promise((resolve) => {
    const onReadable = () => {
      if (stdout.readableLength > 0) resolve('spoke');
    };
    stdout.on('readable', onReadable);
    over.addEventListener('abort', () => stdout.off('readable', onReadable), { once: true });
  });
}
