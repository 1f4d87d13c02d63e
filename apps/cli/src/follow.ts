import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import type { ExecEvent, SecboxClient, StoredFile, SubmitOptions } from '@secbox/client';
import { CommandFailure } from './exit-codes.js';
import type { Surroundings } from './surroundings.js';
import { oneLine, sizeText, tableText, type Terminal } from './terminal.js';

export interface Following {
  readonly client: SecboxClient;
  readonly surroundings: Surroundings;
  readonly onOutput: (data: Uint8Array, stream: 'stdout' | 'stderr') => void;
}

/** Hands something over and follows it until it is over; whoever interrupts ends it, too. Gives its exec's id. */
export async function followExec(
  submit: (options: SubmitOptions) => Promise<{ readonly exec_id: string }>,
  { client, surroundings, onOutput }: Following,
): Promise<string> {
  const { terminal, stopped } = surroundings;
  stopped.throwIfAborted();
  // Not to be cut off: what may have been recorded is cancelled by its id, which only the answer tells.
  const { exec_id: execId } = await submit({ giveUp: stopped });
  const began = performance.now();
  const state = { now: 'handed over' };
  const draw = () => terminal.progress(`${state.now}, ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const clock = setInterval(draw, 1000);
  const tell = (event: ExecEvent) => {
    if (event.type !== 'state') onOutput(event.data, event.type);
    else state.now = event.status;
  };
  try {
    for await (const event of client.execs.events(execId, { signal: stopped })) tell(event);
  } catch (error) {
    if (stopped.aborted) await client.execs.cancel(execId);
    throw error;
  } finally {
    clearInterval(clock);
  }
  return execId;
}

interface ListedArtifact {
  readonly path: string;
  readonly size: number;
  readonly media_type: string;
  readonly url: string | null;
}

export function noteArtifacts(artifacts: readonly ListedArtifact[], terminal: Terminal): void {
  if (artifacts.length === 0) return;
  const rows = artifacts.map(({ path, size, media_type, url }) => [
    `  ${oneLine(path)}`,
    sizeText(size),
    media_type,
    url ?? 'removed',
  ]);
  terminal.note(`${terminal.noted('bold', 'Artifacts')}\n${tableText(rows)}`);
}

/** Writes every file that an exec left behind below a folder. */
export async function saveArtifacts(
  client: SecboxClient,
  execId: string,
  folder: string,
  { terminal, stopped }: Surroundings,
): Promise<number> {
  let saved = 0;
  for await (const artifact of client.execs.artifacts(execId, { signal: stopped })) {
    if (artifact.kind !== 'file' || artifact.url === null) continue;
    terminal.progress(`saving ${artifact.path}`);
    const file = await client.execs.openArtifact(execId, artifact, { signal: stopped });
    await saveFile(file, below(folder, artifact.path));
    saved += 1;
  }
  return saved;
}

/** Programs chose these names. */
function below(folder: string, path: string): string {
  const target = resolve(folder, path);
  if (target.startsWith(`${resolve(folder)}${sep}`)) return target;
  throw new CommandFailure(`The artifact ${JSON.stringify(path)} would not lie in ${folder}.`);
}

/** Whole and with the hash that was recorded, or not at all. */
export async function saveFile(
  file: StoredFile,
  target: string,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<number> {
  await mkdir(dirname(target), { recursive: true });
  const draft = join(dirname(target), `.${process.pid}.part`);
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    await pipeline(
      Readable.fromWeb(file.body as ReadableStream),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          bytes += chunk.length;
          hash.update(chunk);
          onProgress(bytes);
          yield chunk;
        }
      },
      createWriteStream(draft),
    );
    if (file.sha256 !== undefined && hash.digest('hex') !== file.sha256)
      throw new CommandFailure(`What arrived for ${target} does not have the hash that was recorded.`);
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  return bytes;
}
