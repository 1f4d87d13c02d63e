import { ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** A connection that asks to become a WebSocket. */
export interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

const keyProtocol = 'secbox.key.';

/**
 * Brings those who ask for a WebSocket to the app as the requests they are, so that they pass the same guards as every
 * other: host, origin, key, role and rate. A route takes the connection over, or answers as it would anyone.
 */
export class Upgrades {
  readonly #asked = new WeakMap<IncomingMessage, Upgrade>();

  /** `connection` is the event by which the server takes sockets. */
  listen(server: Server, connection: 'connection' | 'secureConnection'): void {
    server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      if (!isWebSocket(request)) {
        // Clients that could speak HTTP/2 ask for it on the way, with their first request: it is answered as it is.
        socket.unshift(Buffer.concat([withoutUpgrade(request), head]));
        server.emit(connection, socket);
        return;
      }
      socket.on('error', () => socket.destroy());
      this.#asked.set(request, { socket, head });
      takeKeyFromProtocols(request);
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      response.shouldKeepAlive = false;
      response.once('finish', () => socket.destroySoon());
      server.emit('request', request, response);
    });
  }

  /** Undefined when the request asks for none. */
  take(request: IncomingMessage): Upgrade | undefined {
    const asked = this.#asked.get(request);
    this.#asked.delete(request);
    return asked;
  }
}

function isWebSocket({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/** The head of a request as it came, but for the wish; it is the last of its connection. */
function withoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method ?? 'GET'} ${url ?? '/'} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (!/^(upgrade|connection|http2-settings)$/i.test(name))
      lines.push(`${name}: ${rawHeaders[at + 1] ?? ''}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`, 'latin1');
}

/** A page cannot send headers with a WebSocket, but names of protocols; a URL would be written down everywhere. */
function takeKeyFromProtocols({ headers }: IncomingMessage): void {
  if (headers.authorization !== undefined || headers['x-api-key'] !== undefined) return;
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  const key = protocols.find((each) => each.startsWith(keyProtocol));
  if (key !== undefined) headers.authorization = `Bearer ${key.slice(keyProtocol.length)}`;
}
