import type { ContainerEnd, ContainerEngine, ContainerSpec, OutputChunk } from '@secbox/container-engine';
import type { OutputFile } from './output-file.js';

export interface ContainerRun {
  readonly engine: ContainerEngine;
  readonly spec: ContainerSpec;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** Aborted with the reason why the exec must end before its time. */
  readonly stop: AbortSignal;
  readonly outputs: Readonly<Record<OutputChunk['stream'], OutputFile>>;
  /** Called once the container is about to start: from here on the exec counts as having run. */
  readonly onStarting: () => Promise<void>;
}

export interface RunResult extends ContainerEnd {
  readonly timedOut: boolean;
}

/**
 * Runs one container from its creation to its certain end, and removes it whatever happens.
 * When this resolves, nothing of the container can write any more.
 */
export async function runContainer(run: ContainerRun): Promise<RunResult> {
  const { engine } = run;
  const id = await engine.create(run.spec);
  try {
    const attachment = await engine.attach(id);
    try {
      await run.onStarting();
      run.stop.throwIfAborted();
      await engine.start(id);
      attachment.input.end(run.stdin);

      const deadline = startDeadline(run.timeoutMs, run.stop, () => engine.kill(id));
      try {
        const [end] = await Promise.all([engine.wait(id), capture(attachment.output, run.outputs)]);
        return { ...end, timedOut: deadline.passed() };
      } finally {
        await deadline.cancel();
      }
    } finally {
      attachment.close();
    }
  } finally {
    await engine.remove(id);
  }
}

async function capture(output: AsyncIterable<OutputChunk>, outputs: ContainerRun['outputs']): Promise<void> {
  for await (const { stream, data } of output) await outputs[stream].append(data);
}

/** Kills when the time is up or a stop is asked for, whichever comes first. */
function startDeadline(timeoutMs: number, stop: AbortSignal, kill: () => Promise<void>) {
  let timedOut = false;
  let killing: Promise<void> = Promise.resolve();
  const onStop = () => {
    killing = kill();
    // Awaited in cancel(), which may be a while: until then a failure is not unhandled.
    killing.catch(() => undefined);
  };
  const timer = setTimeout(() => {
    timedOut = true;
    onStop();
  }, timeoutMs);
  stop.addEventListener('abort', onStop, { once: true });
  if (stop.aborted) onStop();
  return {
    passed: () => timedOut,
    cancel: async () => {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
      await killing;
    },
  };
}
