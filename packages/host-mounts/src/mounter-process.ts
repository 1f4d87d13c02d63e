import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { SecboxError } from '@secbox/contracts';
import { AnswerReader, requestFrame, type MountAnswer, type MountRequest } from './protocol.js';

/** The answer that comes without a request: the program has opened its roots and given up its rights. */
const ready = 0;
const startMs = 10_000;
const endMs = 5_000;
const longestReason = 500;
const largestId = 2 ** 32 - 1;

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: SecboxError) => void;
}

/** One run of secbox-mounts. Requests go out as they come; answers are told apart by their ids. */
export class MounterProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #reader = new AnswerReader();
  #lastId = ready;
  #said = '';
  #failure: SecboxError | undefined;
  /** Settles when it is ready; fails with the reason when it ends before that. */
  readonly started: Promise<void>;
  readonly ended: Promise<void>;

  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd: '/', env: {} });
    const { stdin, stdout, stderr } = this.#child;
    const tooLate = setTimeout(() => this.#fail('it does not get ready'), startMs);
    this.started = this.#answerTo(ready).finally(() => clearTimeout(tooLate));
    // Whoever asks for something is told; until then nobody has to know.
    this.started.catch(() => undefined);
    stdout.on('data', (bytes: Buffer) => this.#read(bytes));
    stderr.on('data', (bytes: Buffer) => {
      this.#said = (this.#said + bytes.toString()).slice(-longestReason);
    });
    // A write to one that has died; its end tells.
    stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => {
        this.#fail(error.message);
        resolve();
      });
      this.#child.once('close', (code, signal) => {
        this.#fail(this.#said.trim() || `it ended with ${signal ?? `exit code ${code ?? 'unknown'}`}`);
        resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  send(request: MountRequest): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    const id = this.#nextId();
    const frame = requestFrame(id, request);
    const answered = this.#answerTo(id);
    const { stdin } = this.#child;
    // What is asked for in one go is written in one go.
    if (stdin.writableCorked === 0) {
      stdin.cork();
      process.nextTick(() => stdin.uncork());
    }
    stdin.write(frame);
    return answered;
  }

  /** Answers what was asked before, and ends it. */
  async close(): Promise<void> {
    this.#child.stdin.end();
    const tooLate = setTimeout(() => this.#child.kill('SIGKILL'), endMs);
    await this.ended;
    clearTimeout(tooLate);
  }

  #nextId(): number {
    do this.#lastId = this.#lastId === largestId ? 1 : this.#lastId + 1;
    while (this.#waiting.has(this.#lastId));
    return this.#lastId;
  }

  #answerTo(id: number): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }

  #read(bytes: Buffer): void {
    try {
      for (const answer of this.#reader.read(bytes)) this.#settle(answer);
    } catch (error) {
      this.#fail(error instanceof Error ? error.message : String(error));
    }
  }

  #settle({ id, failure }: MountAnswer): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) throw new RangeError('An answer to nothing.');
    this.#waiting.delete(id);
    if (failure) waiting.reject(refused(failure));
    else waiting.resolve();
  }

  #fail(why: string): void {
    if (this.#failure) return;
    this.#failure = new SecboxError('mount_failed', `The mounts helper is gone: ${why}.`);
    this.#child.kill('SIGKILL');
    this.#child.stdout.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#failure);
    this.#waiting.clear();
  }
}

function refused({ step, errno }: { readonly step: string; readonly errno: string }): SecboxError {
  return new SecboxError('mount_failed', `A folder cannot be mounted or unmounted: ${errno} (${step}).`, {
    details: { errno, step },
  });
}
