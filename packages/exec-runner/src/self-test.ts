import { containerPaths, type ContainerEngine } from '@secbox/container-engine';
import { SecboxError } from '@secbox/contracts';
import type { SelfTestFolders } from '@secbox/workspace';
import { settledWithin } from './settled-within.js';

/** Whom a self-test asks, and in which image it runs. */
export interface SelfTest {
  readonly engine: Pick<ContainerEngine, 'findImage' | 'info' | 'create' | 'start' | 'wait' | 'remove'>;
  readonly imageReference: string;
  readonly dataDir: string;
}

export interface SelfTestScript {
  /** Run by `sh`, in the work folder, with `mark` as `$0`; its exit code says what it found. */
  readonly script: string;
  readonly mark: string;
  readonly mounts: SelfTestFolders['mounts'];
  readonly maxFileBytes: number;
}

export const mebibyte = 1024 ** 2;
const engineMs = 30_000;

/** Runs a script in a container of its own and gives its exit code. Throws when the engine does not come to that. */
export async function runSelfTest(test: SelfTest, script: SelfTestScript): Promise<number> {
  const exitCode = await settledWithin(engineMs, run(test, script));
  if (exitCode !== undefined) return exitCode;
  throw new SecboxError('engine_unavailable', 'The container engine did not answer in time (self-test).');
}

async function run(
  { engine, imageReference, dataDir }: SelfTest,
  { script, mark, mounts, maxFileBytes }: SelfTestScript,
): Promise<number> {
  const image = await engine.findImage(imageReference);
  if (!image) throw new SecboxError('image_missing', `The engine does not have the image ${imageReference}.`);
  const { defaultRuntime } = await engine.info();
  const id = await engine.create({
    imageId: image.id,
    runtime: defaultRuntime,
    command: ['sh', '-c', script, mark],
    environment: {},
    workingDirectory: containerPaths.work,
    mounts,
    memoryBytes: 128 * mebibyte,
    cpus: 1,
    pids: 16,
    readOnlyRoot: true,
    maxFileBytes,
    owner: { purpose: 'self-test', dataDir },
  });
  try {
    await engine.start(id);
    return (await engine.wait(id)).exitCode;
  } finally {
    await engine.remove(id);
  }
}
