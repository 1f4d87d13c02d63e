import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Against those who send too much or slowly, or do not take their answers, whoever they are. */
export interface ServerLimits {
  /** Of the request line and all headers together; more is a 431. */
  readonly maxHeaderSize: number;
  /** For all headers to arrive, and before them for TLS to be agreed on; then a 408. */
  readonly headersTimeout: number;
  /** How long a connection may wait for its next request. */
  readonly keepAliveTimeout: number;
  /** How long one may leave an answer lying. */
  readonly answerTimeout: number;
  readonly maxConnections: number;
}

const usualLimits: ServerLimits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 15_000,
  keepAliveTimeout: 13_000,
  answerTimeout: 60_000,
  maxConnections: 2000,
};

/** A connection waits longer than callers are told, so that none is closed under a request that is on its way. */
const keepAliveGraceMs = 3000;

export function createServer(
  app: RequestListener,
  tls: TlsFiles | undefined,
  changed: Partial<ServerLimits> = {},
): Server {
  const limits = { ...usualLimits, ...changed };
  const options = {
    maxHeaderSize: limits.maxHeaderSize,
    headersTimeout: limits.headersTimeout,
    // Bodies have deadlines of their own (body-deadline.ts): an upload may take as long as it goes on.
    requestTimeout: 0,
    keepAliveTimeout: limits.keepAliveTimeout,
    connectionsCheckingInterval: 1000,
  };
  const server = tls
    ? createTlsServer({ ...options, ...tls, handshakeTimeout: limits.headersTimeout })
    : createHttpServer(options);
  server.maxConnections = limits.maxConnections;
  // Their size is limited. By their number Node would pass over the last ones in silence, an Origin perhaps.
  server.maxHeadersCount = 0;
  const told = `timeout=${Math.max(1, Math.floor((limits.keepAliveTimeout - keepAliveGraceMs) / 1000))}`;
  server.on('request', (request, response) => {
    response.setHeader('keep-alive', told);
    // A whole URL is for proxies, and its host is not the one that is checked. This way it is a path that there is not.
    if (!request.url?.startsWith('/')) request.url = `/${request.url ?? ''}`;
    // Nothing moved for so long: fine while there is nothing to send yet.
    response.setTimeout(limits.answerTimeout, () => {
      if (request.socket.writableLength > 0) request.socket.destroy();
    });
  });
  server.on('request', app);
  return server;
}

/** Gives the URL it serves on, with the port it got. */
export function listen(
  server: Server,
  host: string,
  port: number,
  scheme: 'http' | 'https',
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}
