import { randomUUID } from 'node:crypto';
import { isErrno, type Directory } from './directory.js';

/** Names in an exec's artifact folder that only we write. */
export const reservedNames = ['stdout.txt', 'stderr.txt', 'manifest.json', 'meta.json'] as const;

export type ReservedName = (typeof reservedNames)[number];

export interface SetAside {
  readonly name: ReservedName;
  readonly kept_as: string;
}

/** Gives what the program planted under a reserved name another one, before anything is listed or published. */
export function setReservedNamesAside(artifacts: Directory): SetAside[] {
  const moved: SetAside[] = [];
  for (const name of reservedNames) {
    if (!artifacts.has(name)) continue;
    const keptAs = freeName(artifacts, `${name}.from-exec`);
    artifacts.rename(name, artifacts, keptAs);
    moved.push({ name, kept_as: keptAs });
  }
  return moved;
}

/** Numbers to begin with; a program that took them all gets a name that it could not guess. */
function freeName(artifacts: Directory, wanted: string): string {
  for (const name of [wanted, `${wanted}.2`, `${wanted}.3`]) {
    if (!artifacts.has(name)) return name;
  }
  return `${wanted}.${randomUUID()}`;
}

export interface ResultDocuments {
  readonly manifest: unknown;
  readonly meta: unknown;
}

/**
 * Moves the finished files from the spool into the artifact folder, meta.json last: its presence means complete. Both
 * documents are whole before anything is moved, so that whoever finds this cut off can go on with it.
 */
export async function publishResults(
  spool: Directory,
  artifacts: Directory,
  documents: ResultDocuments,
): Promise<void> {
  await writeDocument(spool, 'manifest.json', documents.manifest);
  await writeDocument(spool, 'meta.json', documents.meta);
  moveResults(spool, artifacts);
}

/**
 * Goes on with what a server that was killed had begun to publish, and gives the documents of it. Undefined when these
 * were not whole: then the output lies in the spool. Nothing of the exec may be able to write any more.
 */
export async function finishPublishing(
  spool: Directory,
  artifacts: Directory,
): Promise<ResultDocuments | undefined> {
  // Once the first of our names has left the spool, those in the artifact folder are ours, and not planted.
  const begun = !spool.has(reservedNames[0]);
  const read = (name: ReservedName) => {
    if (spool.has(name)) return readDocument(spool, name);
    return begun ? readDocument(artifacts, name) : undefined;
  };
  const [manifest, meta] = [await read('manifest.json'), await read('meta.json')];
  if (manifest !== undefined && meta !== undefined) {
    moveResults(spool, artifacts);
    return { manifest, meta };
  }
  // A power cut may have taken what was in them, though not their names.
  for (const name of begun ? reservedNames : []) {
    if (!spool.has(name) && artifacts.has(name)) artifacts.rename(name, spool, name);
  }
  return undefined;
}

function moveResults(spool: Directory, artifacts: Directory): void {
  for (const name of reservedNames) {
    try {
      spool.rename(name, artifacts, name);
    } catch (error) {
      // An earlier try, for which there was no room, came as far as this.
      if (!isErrno(error, 'ENOENT') || !artifacts.has(name)) throw error;
    }
  }
}

/** Undefined where it is not there or was cut off. */
async function readDocument(folder: Directory, name: ReservedName): Promise<object | undefined> {
  if (!folder.has(name)) return undefined;
  const file = folder.openFile(name);
  try {
    const document: unknown = JSON.parse((await file.readAll()).toString('utf8'));
    return typeof document === 'object' && document !== null ? document : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  } finally {
    file.close();
  }
}

async function writeDocument(spool: Directory, name: ReservedName, document: unknown): Promise<void> {
  const text = `${JSON.stringify(document, null, 2)}\n`;
  try {
    await spool.writeFile(name, 0o644, text);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    await spool.remove(name);
    await spool.writeFile(name, 0o644, text);
  }
}
