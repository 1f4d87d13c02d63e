import { request, type ClientRequest, type IncomingMessage } from 'node:http';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the body, at its own pace; whoever it is that ends it. */
  readonly send?: (stream: ClientRequest) => Promise<void> | void;
}

/** A request as fetch would not send it: with any header, slowly, or never to its end. */
export function rawRequest(
  url: string,
  { method = 'GET', headers = {}, send }: RawRequest,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { ...headers }, agent: false });
    let answered = false;
    sent.on('response', (response) => {
      answered = true;
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        sent.destroy();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    // Who answers before the end of a body may close on what is still being sent.
    const failed = (error: unknown) => {
      if (!answered) reject(error instanceof Error ? error : new Error(String(error)));
    };
    sent.on('error', failed);
    if (send === undefined) sent.end();
    else void Promise.resolve(send(sent)).catch(failed);
  });
}
