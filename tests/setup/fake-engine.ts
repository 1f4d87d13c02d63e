import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Buffer;
}

type Answer = (response: ServerResponse, request: SeenRequest) => void;

/** An engine that answers as it is told and remembers what it was asked; for roads that no real engine can be put on. */
export class FakeEngine {
  readonly requests: SeenRequest[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  private constructor(readonly folder: string) {}

  static async start(): Promise<FakeEngine> {
    const engine = new FakeEngine(await mkdtemp(join(tmpdir(), 'fake-')));
    await new Promise<void>((resolve) => engine.#server.listen(engine.socket, resolve));
    return engine.on('GET /_ping', (response) => response.end('OK'));
  }

  get socket(): string {
    return join(this.folder, 'docker.sock');
  }

  get host(): string {
    return `unix://${this.socket}`;
  }

  on(request: string, answer: Answer): this {
    this.#answers.set(request, answer);
    return this;
  }

  asked(request: string): SeenRequest[] {
    return this.requests.filter(({ method, path }) => `${method} ${path}` === request);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await rm(this.folder, { recursive: true });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const url = new URL(request.url ?? '', 'http://engine');
    const seen = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      body: Buffer.concat(parts),
    };
    this.requests.push(seen);
    const answer = this.#answers.get(`${seen.method} ${seen.path}`);
    if (answer !== undefined) answer(response, seen);
    else response.writeHead(404).end(JSON.stringify({ message: `no such thing: ${seen.path}` }));
  }
}

export function json(value: unknown): Answer {
  return (response) => response.end(JSON.stringify(value));
}
