import { EventEmitter, on } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Stands between a service and the real engine, and makes the trouble that engines make. */
export interface TroubledEngine {
  readonly dockerHost: string;
  /** Requests that begin like this are swallowed, or answered with a 500, from now on. */
  swallow(request: RegExp | undefined): void;
  fail(request: RegExp | undefined): void;
  /** Settles when one that begins like this is swallowed. */
  swallowed(request: RegExp): Promise<void>;
  /** Nothing of it is there any more, as when it was killed; its containers may live on. */
  vanish(gone: boolean): void;
  /** The engine does what such requests ask for, but its answers come only when this is called again. */
  hold(request: RegExp | undefined): void;
  /** Breaks every attach stream. */
  cutAttached(): void;
  close(): Promise<void>;
}

const refusal = '{"message":"trouble"}';

export async function startTroubledEngine(): Promise<TroubledEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'te-'));
  const path = join(folder, 's');
  const target = (process.env['DOCKER_HOST'] ?? 'unix:///var/run/docker.sock').replace(/^unix:\/\//, '');
  const sockets = new Set<Socket>();
  const attached = new Set<Socket>();
  const held = new Set<Socket>();
  const swallows = new EventEmitter();
  const trouble: {
    swallowed?: RegExp | undefined;
    failed?: RegExp | undefined;
    held?: RegExp | undefined;
    gone?: boolean;
  } = {};

  const server = createServer({ allowHalfOpen: true }, (client) => {
    if (trouble.gone) {
      client.on('error', () => undefined).destroy();
      return;
    }
    const engine = connect({ path: target, allowHalfOpen: true });
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('data', (data) => {
      const start = data.toString('latin1', 0, 300);
      if (start.includes('/attach?')) attached.add(client);
      if (trouble.swallowed?.test(start)) {
        swallows.emit('swallowed', start);
        return;
      }
      if (trouble.failed?.test(start)) {
        client.end(
          `HTTP/1.1 500 Trouble\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${refusal.length}\r\n\r\n${refusal}`,
        );
        client.removeAllListeners('data').resume();
        return;
      }
      if (trouble.held?.test(start)) held.add(engine.pause());
      engine.write(data);
    });
    engine.on('data', (data) => client.write(data));
    client.on('end', () => engine.end()).on('close', () => engine.destroy());
    engine.on('end', () => client.end()).on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    dockerHost: `unix://${path}`,
    swallow: (request) => {
      trouble.swallowed = request;
    },
    swallowed: async (request) => {
      for await (const [start] of on(swallows, 'swallowed')) if (request.test(String(start))) return;
    },
    fail: (request) => {
      trouble.failed = request;
    },
    vanish: (gone) => {
      trouble.gone = gone;
      if (gone) for (const socket of sockets) socket.destroy();
    },
    hold: (request) => {
      trouble.held = request;
      for (const socket of held) socket.resume();
      held.clear();
    },
    cutAttached: () => {
      for (const socket of attached) socket.destroy();
      attached.clear();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true });
    },
  };
}
