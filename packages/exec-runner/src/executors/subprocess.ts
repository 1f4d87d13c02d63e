import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Attachment, OutputChunk } from '@secbox/container-engine';
import type { WorkspaceMounts } from '@secbox/workspace';
import { settledWithin } from '../settled-within.js';
import { childrenOf, hostProcess, killSurely, type HostProcess } from './host-process.js';

export interface Launch {
  /** The compiled launcher. */
  readonly program: string;
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly mounts: WorkspaceMounts;
  readonly processes: number;
  /** Folders of the host that its commands must not see. */
  readonly hidden: readonly string[];
}

const politeMs = 2000;
const surelyMs = 10_000;
const mostSaidBytes = 4096;

/** One launcher with its init: what waits for a command, runs it, and ends with all that it left behind. */
export class Subprocess {
  readonly attachment: Attachment;
  readonly #child: ChildProcess;
  readonly #ended: Promise<string>;
  #said = '';
  #known: readonly HostProcess[] = [];

  constructor(launch: Launch) {
    const child = spawn(launch.program, argumentsOf(launch), {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'pipe'],
      // A session, and so a process group, of its own.
      detached: true,
    });
    this.#child = child;
    child.stderr.on('data', (data: Buffer) => {
      this.#said = `${this.#said}${data.toString()}`.slice(0, mostSaidBytes);
    });
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(this.#said.trim() || `it ended (${signal ?? code})`));
    });
    // Whoever writes to it when it is gone hears of it by its end.
    child.stdin.on('error', () => undefined);
    this.attachment = attachmentOf(child.stdin, child.stdout);
  }

  /** Settles with what it said, when its launcher is gone; never rejects. */
  get ended(): Promise<string> {
    return this.#ended;
  }

  /** The launcher and the first process of its namespace, by which all of it can be ended. To be asked for when it is ready. */
  async identify(): Promise<readonly HostProcess[]> {
    const { pid } = this.#child;
    if (pid === undefined) return [];
    const found = await Promise.all([pid, ...(await childrenOf(pid))].map(hostProcess));
    this.#known = found.filter((known) => known !== undefined);
    return this.#known;
  }

  /** Ends all of it, politely first; false when the kernel does not let go of something. Never rejects. */
  async end(): Promise<boolean> {
    // The init ends when nobody speaks to it any more, and with it all that it runs.
    this.attachment.close();
    if ((await settledWithin(politeMs, this.#ended)) === undefined) this.#child.kill('SIGKILL');
    // A launcher that was killed did not wait for its init, which ends when all below it has.
    const [gone, dead] = await Promise.all([
      settledWithin(surelyMs, this.#ended),
      killSurely(this.#known, surelyMs).catch(() => false),
    ]);
    return gone !== undefined && dead;
  }
}

function argumentsOf({ owner, mounts, processes, hidden }: Launch): string[] {
  const options = {
    uid: owner.uid,
    gid: owner.gid,
    processes,
    inputs: mounts.inputs,
    work: mounts.work,
    artifacts: mounts.artifacts,
  };
  return [
    ...Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    ...hidden.map((folder) => `--hide=${folder}`),
  ];
}

function attachmentOf(input: Writable, output: Readable): Attachment {
  return {
    input,
    output: chunksOf(output),
    close: () => {
      input.destroy();
      output.destroy();
    },
  };
}

async function* chunksOf(output: Readable): AsyncGenerator<OutputChunk> {
  try {
    for await (const data of output) yield { stream: 'stdout', data: data as Buffer };
  } catch (error) {
    // Let go of by us.
    if (!output.destroyed) throw error;
  }
}
