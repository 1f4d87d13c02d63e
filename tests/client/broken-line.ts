import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A line to a server that breaks as it is told. */
export interface BrokenLine {
  readonly url: string;
  /** How many connections there were. */
  readonly connections: () => number;
  /** Each of the next connections is cut after so many bytes from the server; those after them hold. */
  cutAfter(...bytes: readonly number[]): void;
  close(): Promise<void>;
}

export async function brokenLine(server: string): Promise<BrokenLine> {
  const { hostname, port } = new URL(server);
  const sockets = new Set<Socket>();
  const cuts: number[] = [];
  let connections = 0;
  const line = createServer((near) => {
    connections += 1;
    const far = connect(Number(port), hostname);
    let left = cuts.shift() ?? Number.POSITIVE_INFINITY;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far);
    far.on('data', (data: Buffer) => {
      near.write(data.subarray(0, left));
      left -= data.length;
      if (left <= 0) near.end(() => near.destroy());
    });
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  return {
    url: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    connections: () => connections,
    cutAfter: (...bytes) => {
      cuts.push(...bytes);
      // Those that are open hold no place in the list.
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      line.close();
      await once(line, 'close');
    },
  };
}
