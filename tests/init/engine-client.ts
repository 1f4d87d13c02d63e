import { request, type RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';
import { parseDockerHost } from '../../packages/container-engine/src/endpoint.js';

/** The few calls of the engine's API that these tests make, with nothing between them and the socket. */
export class EngineClient {
  readonly #endpoint: RequestOptions;

  constructor(dockerHost = process.env['DOCKER_HOST']) {
    if (dockerHost === undefined) throw new Error('These tests need an engine: set DOCKER_HOST.');
    this.#endpoint = parseDockerHost(dockerHost);
  }

  call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const headers = { 'Content-Type': 'application/json' };
      const sent = request({ ...this.#endpoint, method, path, headers }, (answer) => {
        const parts: Buffer[] = [];
        answer.on('error', reject);
        answer.on('data', (part: Buffer) => parts.push(part));
        answer.on('end', () => {
          const text = Buffer.concat(parts).toString('utf8');
          if ((answer.statusCode ?? 500) < 400) resolve(text === '' ? undefined : JSON.parse(text));
          else reject(new Error(`${method} ${path}: ${answer.statusCode ?? 0} ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Whether it runs or not, with its volumes. The engine refuses to kill one that ends at the same moment. */
  async remove(id: string): Promise<void> {
    for (;;) {
      try {
        await this.call('DELETE', `/containers/${id}?force=1&v=1`);
        return;
      } catch (error) {
        if (!/ is not running"/.test(String(error))) throw error;
      }
    }
  }

  /** Both directions of a container's streams, before it is started. */
  attach(id: string): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const path = `/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`;
      const headers = { Connection: 'Upgrade', Upgrade: 'tcp' };
      const sent = request({ ...this.#endpoint, method: 'POST', path, headers });
      sent.on('error', reject);
      sent.on('response', (answer) => {
        reject(new Error(`attach: ${answer.statusCode ?? 0}`));
      });
      sent.on('upgrade', (_answer, socket, head) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      sent.end();
    });
  }
}
