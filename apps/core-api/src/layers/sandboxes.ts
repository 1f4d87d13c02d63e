import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { refuseProtected } from '@secbox/command-guard';
import { SecboxError } from '@secbox/contracts';
import type { SkillLayers, UserPlace } from '@secbox/skill-layers';
import { FolderFiles, isErrno, type Owner, SharedLock } from '@secbox/workspace';
import type { FileArea } from '../files/file-area.js';
import { type FolderAccess, folderArea } from '../files/folder-area.js';
import type { SandboxRoom } from './sandbox-room.js';

/** One lock each, for as long as somebody wants it. */
export class NamedLocks {
  readonly #locks = new Map<string, { readonly lock: SharedLock; users: number }>();

  async using<T>(name: string, use: (lock: SharedLock) => Promise<T>): Promise<T> {
    const entry = this.#locks.get(name) ?? { lock: new SharedLock(), users: 0 };
    this.#locks.set(name, entry);
    entry.users += 1;
    try {
      return await use(entry.lock);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#locks.delete(name);
    }
  }
}

/** Receives what a client sends into a folder of the server's own first. */
export function stagingIn(layers: SkillLayers): FolderAccess['staging'] {
  return (content, mostBytes, use) =>
    layers.withUpload(async (folder) => {
      const path = join(folder, 'content');
      const bytes = await receive(path, content, mostBytes);
      return use(() => contentOf(path), bytes);
    });
}

export interface SandboxAreaOptions {
  readonly locks: NamedLocks;
  readonly owner: Owner | undefined;
  readonly room: Pick<SandboxRoom, 'reserve'>;
}

/** The general sandbox of one user in one agent. */
export function sandboxArea(
  layers: SkillLayers,
  user: UserPlace,
  { locks, owner, room }: SandboxAreaOptions,
): FileArea {
  const within = <T>(use: (files: FolderFiles) => Promise<T>) =>
    layers.withSandbox(user, (folder) => use(new FolderFiles({ folder, owner })));
  const name = layers.sandboxOf(user);
  const area = folderArea({
    reading: within,
    changing: (use, adding) =>
      locks.using(name, (lock) =>
        lock.alone(async () => {
          // Not while the agent is held up by it.
          if (adding) await room.reserve(name, adding, layers.sandboxStamp(user));
          return within(use);
        }),
      ),
    staging: stagingIn(layers),
    checkChange: (path) => refuseProtected(path.split('/'), 'sandbox'),
  });
  if (!user.onlyLooks) return area;
  return {
    ...area,
    list: (page) => area.list(page).catch(ifThereIsNone({ files: [], more: false })),
    search: (query) => area.search(query).catch(ifThereIsNone({ matches: [], truncated: false })),
  };
}

/** A folder that nobody has made yet is as an empty one. */
function ifThereIsNone<T>(answer: T): (error: unknown) => T {
  return (error) => {
    if (isErrno(error, 'ENOENT')) return answer;
    throw error;
  };
}

const chunkBytes = 64 * 1024;

/** What a file of our own holds; it is opened when somebody reads, and closed when nobody does any more. */
export async function* contentOf(path: string): AsyncGenerator<Buffer> {
  const file = await open(path);
  try {
    for (;;) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function receive(path: string, content: AsyncIterable<Buffer>, mostBytes: number): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    for await (const piece of content) {
      bytes += piece.length;
      if (bytes > mostBytes) {
        throw new SecboxError('file_too_large', `A file has at most ${mostBytes} bytes.`, {
          details: { most: mostBytes },
        });
      }
      await file.writeFile(piece);
    }
    return bytes;
  } finally {
    await file.close();
  }
}
