import {
  answeredOutputBytes,
  isFinal,
  type ArtifactSummary,
  type ExecAnswer,
  type ExecRecord,
} from '@secbox/contracts';
import { Directory, isErrno, within } from '@secbox/workspace';
import { join } from 'node:path';

/** The row together with what was published: the same for whoever waited and for whoever asks later. */
export async function readAnswer(record: ExecRecord): Promise<ExecAnswer> {
  // From the row, not from today's root: that may have been moved since.
  const artifacts = record.artifacts_path;
  return {
    ...record,
    artifacts_dir: artifacts,
    stdout_path: join(artifacts, 'stdout.txt'),
    stderr_path: join(artifacts, 'stderr.txt'),
    ...(isFinal(record.status) ? await readPublished(artifacts) : nothing),
  };
}

const nothing = { stdout: '', stderr: '', artifacts: [] } as const;

type Published = Pick<ExecAnswer, 'stdout' | 'stderr' | 'artifacts'>;

/** Nothing is published for an exec that never ran, and nothing is left of one that was deleted. */
async function readPublished(path: string): Promise<Published> {
  try {
    return await within(Directory.open(path), async (folder) => ({
      stdout: (await readStart(folder, 'stdout.txt', answeredOutputBytes)).toString('utf8'),
      stderr: (await readStart(folder, 'stderr.txt', answeredOutputBytes)).toString('utf8'),
      artifacts: await readManifest(folder),
    }));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return nothing;
    throw error;
  }
}

async function readManifest(folder: Directory): Promise<readonly ArtifactSummary[]> {
  const text = await readStart(folder, 'manifest.json', Number.MAX_SAFE_INTEGER);
  return (JSON.parse(text.toString('utf8')) as { files: ArtifactSummary[] }).files;
}

async function readStart(folder: Directory, name: string, limit: number): Promise<Buffer> {
  const file = await folder.openFile(name);
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, limit));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
