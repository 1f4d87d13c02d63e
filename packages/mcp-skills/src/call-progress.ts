import type { InvocationEvent } from './skill-source.js';

export interface Progress {
  readonly progress: number;
  readonly message: string;
}

export interface CallProgressOptions {
  readonly send: (progress: Progress) => void;
  /** How far apart what is told of output is at least, and that nothing has changed. */
  readonly outputMs?: number;
  readonly heartbeatMs?: number;
}

const mostMessage = 200;

/**
 * Tells how an invocation goes: its state, the last line of what it printed, and from time to time that it is still at
 * it, as clients lose patience with what is silent. The number is the seconds since it was asked for.
 */
export class CallProgress {
  readonly #options: Required<CallProgressOptions>;
  readonly #began = performance.now();
  readonly #heartbeat: NodeJS.Timeout;
  #state = 'handed over';
  #line = '';
  #told = 0;
  #toldAt = Number.NEGATIVE_INFINITY;
  #later: NodeJS.Timeout | undefined;

  constructor(options: CallProgressOptions) {
    this.#options = { outputMs: 250, heartbeatMs: 5000, ...options };
    this.#heartbeat = setInterval(() => this.#tell(this.#state), this.#options.heartbeatMs).unref();
  }

  report(event: InvocationEvent): void {
    if (event.type === 'state') {
      this.#state = event.status;
      this.#tell(event.status);
      return;
    }
    const line = lastLine(Buffer.from(event.data).toString('utf8'));
    if (line === '') return;
    this.#line = line;
    const wait = this.#toldAt + this.#options.outputMs - performance.now();
    this.#later ??= setTimeout(
      () => {
        this.#later = undefined;
        this.#tell(this.#line);
      },
      Math.max(0, wait),
    ).unref();
  }

  end(): void {
    clearInterval(this.#heartbeat);
    clearTimeout(this.#later);
  }

  #tell(message: string): void {
    const now = performance.now();
    this.#toldAt = now;
    // It has to grow, however short the time was.
    this.#told = Math.max(this.#told + 0.001, (now - this.#began) / 1000);
    this.#options.send({ progress: Number(this.#told.toFixed(3)), message });
  }
}

function lastLine(text: string): string {
  const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  return (lines.at(-1) ?? '')
    .replaceAll(/\p{Cc}/gu, ' ')
    .trim()
    .slice(0, mostMessage);
}
