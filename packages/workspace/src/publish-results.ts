import { randomUUID } from 'node:crypto';
import { type Directory, isErrno } from './directory.js';

/** Names in an exec's artifact folder that only we write. */
export const reservedNames = ['stdout.txt', 'stderr.txt', 'manifest.json', 'meta.json'] as const;

export type ReservedName = (typeof reservedNames)[number];

export interface SetAside {
  readonly name: ReservedName;
  readonly kept_as: string;
}

/** Gives what the program planted under a reserved name another one, before anything is listed or published. */
export async function setReservedNamesAside(artifacts: Directory): Promise<SetAside[]> {
  const moved: SetAside[] = [];
  for (const name of reservedNames) {
    if (!(await exists(artifacts, name))) continue;
    const keptAs = await freeName(artifacts, `${name}.from-exec`);
    await artifacts.rename(name, artifacts, keptAs);
    moved.push({ name, kept_as: keptAs });
  }
  return moved;
}

/** Numbers to begin with; a program that took them all gets a name that it could not guess. */
async function freeName(artifacts: Directory, wanted: string): Promise<string> {
  for (const name of [wanted, `${wanted}.2`, `${wanted}.3`]) {
    if (!(await exists(artifacts, name))) return name;
  }
  return `${wanted}.${randomUUID()}`;
}

async function exists(directory: Directory, name: string): Promise<boolean> {
  try {
    await directory.stat(name);
    return true;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}

/** Moves the finished files from the spool into the artifact folder, meta.json last: its presence means complete. */
export async function publishResults(
  spool: Directory,
  artifacts: Directory,
  documents: { readonly manifest: unknown; readonly meta: unknown },
): Promise<void> {
  await writeDocument(spool, 'manifest.json', documents.manifest);
  await writeDocument(spool, 'meta.json', documents.meta);
  for (const name of reservedNames) await spool.rename(name, artifacts, name);
}

async function writeDocument(spool: Directory, name: ReservedName, document: unknown): Promise<void> {
  const file = await spool.createFile(name, 0o644);
  try {
    await file.writeFile(`${JSON.stringify(document, null, 2)}\n`);
  } finally {
    await file.close();
  }
}
