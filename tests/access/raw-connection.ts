import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A TCP connection to a service, and all that came back on it. */
export interface RawConnection {
  readonly socket: Socket;
  readonly received: () => string;
  /** Once what was received matches. */
  readonly until: (pattern: RegExp) => Promise<string>;
  /** Once the other side has ended it. */
  readonly closed: Promise<string>;
  readonly end: () => void;
}

export async function openConnection(url: string): Promise<RawConnection> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  const received = () => Buffer.concat(chunks).toString('latin1');
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // Being cut off is what some of them are for.
  socket.on('error', () => undefined);
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received())));
  await once(socket, 'connect');
  return {
    socket,
    received,
    closed,
    until: async (pattern) => {
      while (!pattern.test(received())) {
        if (socket.destroyed) throw new Error(`Closed after: ${received()}`);
        await Promise.race([once(socket, 'data'), closed]);
      }
      return received();
    },
    end: () => socket.destroy(),
  };
}

/** Sends these bytes and waits until the service ends the connection. */
export async function sendRaw(url: string, bytes: string): Promise<string> {
  const { socket, closed } = await openConnection(url);
  socket.write(Buffer.from(bytes, 'latin1'));
  return closed;
}

/** The status of each answer that came. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
