import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { parseDockerHost } from './endpoint.js';

/** Stands before the engine, so that it can go away without taking the engine along. */
export async function openProxy(path: string, dockerHost: string) {
  const endpoint = parseDockerHost(dockerHost);
  const calls: { asked: string; answered: boolean }[] = [];
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect('socketPath' in endpoint ? { path: endpoint.socketPath } : endpoint);
    const call = { asked: '', answered: false };
    calls.push(call);
    client.on('data', (data: Buffer) => Object.assign(call, { asked: data.toString(), answered: false }));
    upstream.on('data', () => (call.answered = true));
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream]) sockets.push(socket.on('error', () => undefined));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return {
    path,
    /** Once the engine has begun to answer a call of this kind. */
    async answering(text: string): Promise<void> {
      while (!calls.some(({ asked, answered }) => asked.includes(text) && answered)) await pause(10);
    },
    async close(): Promise<void> {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
