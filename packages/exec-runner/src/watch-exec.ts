import { isFinal, type ExecRecord, type ExecStatus } from '@secbox/contracts';
import { Directory, isErrno, within, type OpenFile } from '@secbox/workspace';
import type { Progress } from './progress.js';

export const outputStreams = ['stdout', 'stderr'] as const;
export type OutputStream = (typeof outputStreams)[number];

/** How much of an exec a watcher has seen. */
export interface WatchPosition {
  readonly stdout: number;
  readonly stderr: number;
  /** 0: nothing, 1: that it waits, 2: that it runs, 3: its end. */
  readonly state: number;
}

export type ExecEvent = { readonly position: WatchPosition } & (
  | { readonly type: 'state'; readonly status: ExecStatus }
  | { readonly type: OutputStream; readonly data: Buffer }
);

export interface OutputFolders {
  readonly spool: string;
  readonly artifacts: string;
}

export interface ExecWatch {
  readonly folders: OutputFolders;
  readonly find: () => Promise<ExecRecord>;
  /** Whether the row of an exec that is over has this output. */
  readonly isRecorded: (stream: OutputStream) => Promise<boolean>;
  /** Undefined when the exec is not under way: then all there is to see is there already. */
  readonly progress: Progress | undefined;
  readonly from: WatchPosition;
  readonly signal: AbortSignal;
}

/** Everything after `from`, in order, until the end of the exec. What was printed comes before the end is told. */
export async function* watchExec(watch: ExecWatch): AsyncGenerator<ExecEvent> {
  let position = watch.from;
  const files = new OutputReader(watch);
  try {
    while (!watch.signal.aborted) {
      const changed = watch.progress?.next();
      const { status } = await watch.find();
      const state = stateNumber(status);
      if (state > position.state && !isFinal(status)) {
        position = { ...position, state };
        yield { type: 'state', status, position };
      }
      for (const stream of outputStreams) {
        for await (const data of files.readFrom(stream, position[stream], isFinal(status))) {
          position = { ...position, [stream]: position[stream] + data.length };
          yield { type: stream, data, position };
        }
      }
      if (isFinal(status)) {
        position = { ...position, state };
        yield { type: 'state', status, position };
        return;
      }
      // Not over, and nobody runs it: there is nothing to wait for.
      if (!changed) return;
      await changedOrLeft(changed, watch.signal);
    }
  } finally {
    files.close();
  }
}

/** Leaves nothing behind on the signal, which may see a million changes. */
function changedOrLeft(changed: Promise<void>, left: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const goOn = () => {
      left.removeEventListener('abort', goOn);
      resolve();
    };
    left.addEventListener('abort', goOn);
    if (left.aborted) goOn();
    void changed.then(goOn);
  });
}

function stateNumber(status: ExecStatus): number {
  if (isFinal(status)) return 3;
  return status === 'running' ? 2 : 1;
}

/** Reads the output where it is: in the spool while the exec runs, then where it was published. */
class OutputReader {
  readonly #watch: Pick<ExecWatch, 'folders' | 'isRecorded'>;
  /** Kept open: a file that is published meanwhile is still the same. */
  readonly #files = new Map<OutputStream, OpenFile>();

  constructor(watch: Pick<ExecWatch, 'folders' | 'isRecorded'>) {
    this.#watch = watch;
  }

  async *readFrom(stream: OutputStream, start: number, over: boolean): AsyncGenerator<Buffer> {
    yield* (await this.#open(stream, over))?.chunks({ start }) ?? [];
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
  }

  /**
   * The artifact folder is the program's own until its output is recorded: whatever is called stdout.txt there before is
   * not ours.
   */
  async #open(stream: OutputStream, over: boolean): Promise<OpenFile | undefined> {
    const opened = this.#files.get(stream);
    if (opened) return opened;
    const { folders, isRecorded } = this.#watch;
    if (over && !(await isRecorded(stream))) return undefined;
    const file = openIn(over ? folders.artifacts : folders.spool, `${stream}.txt`);
    if (file) this.#files.set(stream, file);
    return file;
  }
}

function openIn(folder: string, name: string): OpenFile | undefined {
  try {
    return within(Directory.open(folder), (directory) => directory.openFile(name));
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
