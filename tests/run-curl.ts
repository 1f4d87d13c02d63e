import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';

export interface CurlSurroundings {
  /** Those that the reader is told to have. */
  readonly files?: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;
  readonly variables?: Readonly<Record<string, string>>;
}

/** What was asked, and what curl prints of the answer: as JSON where it is nothing else. */
export interface CurlAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly printed: unknown;
}

/**
 * Runs a curl line of our documentation, as a person would who pastes it, on machines without curl too, and gives
 * what it prints.
 */
export async function runCurl(line: string, surroundings: CurlSurroundings = {}): Promise<unknown> {
  return (await askByCurl(line, surroundings)).printed;
}

/**
 * The same with more of the answer. It knows what our lines use: one URL of http, `-s`, `-i`, `-D -`, `-o`, `-m`, `-X`,
 * `-H`, `-d`, `-F` and `-T`; anything else is an error.
 */
export async function askByCurl(
  line: string,
  { files = {}, variables = {} }: CurlSurroundings = {},
): Promise<CurlAnswer> {
  const asked = await readLine(shellWords(line, variables), files);
  const { method, url, headers, body, seconds } = asked;
  return new Promise((resolve, reject) => {
    const answered = (response: IncomingMessage, stream: Readable, first = Buffer.alloc(0)) => {
      const chunks: Buffer[] = [first];
      const done = () => {
        clearTimeout(limit);
        stream.destroy();
        const status = response.statusCode ?? 0;
        const { pathname: path } = new URL(url);
        resolve({ method, path, status, printed: printed(response, Buffer.concat(chunks), asked) });
      };
      // As curl's: what has come until then is printed, and the line is closed.
      const limit = seconds === undefined ? undefined : setTimeout(done, seconds * 1000);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', done);
      stream.on('error', (error) => {
        clearTimeout(limit);
        reject(error);
      });
    };
    const sent = request(url, { method, headers, agent: false });
    sent.on('response', (response) => answered(response, response));
    sent.on('upgrade', (response, socket, first) => answered(response, socket, first));
    sent.on('error', reject);
    sent.end(body);
  });
}

interface Line {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string | undefined;
  readonly seconds: number | undefined;
  readonly showsHeaders: boolean;
  readonly showsBody: boolean;
}

async function readLine(
  words: readonly string[],
  files: NonNullable<CurlSurroundings['files']>,
): Promise<Line> {
  if (words[0] !== 'curl') throw new Error(`Not a curl line: ${words.join(' ')}`);
  const contentOf = (file: string) => {
    const content = files[file];
    if (content === undefined) throw new Error(`There is no file ${file}.`);
    return content;
  };
  const headers: Record<string, string> = {};
  const form = new FormData();
  let url: string | undefined;
  let method: string | undefined;
  let body: Uint8Array | string | undefined;
  let seconds: number | undefined;
  let showsHeaders = false;
  let showsBody = true;
  for (let at = 1; at < words.length; at += 1) {
    const next = () => words[(at += 1)] ?? '';
    const word = words[at] ?? '';
    if (word === '-s') continue;
    else if (word === '-i' || (word === '-D' && next() === '-')) showsHeaders = true;
    else if (word === '-o' && next()) showsBody = false;
    else if (word === '-m') seconds = Number(next());
    else if (word === '-X') method = next();
    else if (word === '-d') body = next();
    else if (word === '-T') {
      body = contentOf(next());
      method ??= 'PUT';
    } else if (word === '-F') {
      const [name = '', value = ''] = next().split(/=(.*)/s);
      const file = value.slice(1);
      if (value.startsWith('@')) form.append(name, new Blob([contentOf(file)]), file);
      else form.append(name, value);
    } else if (word === '-H') {
      const [name = '', value = ''] = next().split(/:\s*(.*)/s);
      headers[name.toLowerCase()] = value;
    } else if (/^http:/.test(word) && url === undefined) url = word;
    else throw new Error(`Our lines do not use ${word}.`);
  }
  if (url === undefined) throw new Error(`No URL in ${words.join(' ')}`);
  if (typeof body === 'string') headers['content-type'] ??= 'application/x-www-form-urlencoded';
  if ([...form].length > 0) {
    const packed = new Response(form);
    headers['content-type'] = packed.headers.get('content-type') ?? '';
    body = new Uint8Array(await packed.arrayBuffer());
  }
  method ??= body === undefined ? 'GET' : 'POST';
  return { method, url, headers, body, seconds, showsHeaders, showsBody };
}

function printed(response: IncomingMessage, bytes: Buffer, { showsHeaders, showsBody }: Line): unknown {
  const text = showsBody ? bytes.toString().replaceAll('\r\n', '\n') : '';
  if (showsHeaders) {
    const { httpVersion, statusCode, statusMessage, rawHeaders } = response;
    const pairs = rawHeaders.flatMap((name, at) =>
      at % 2 === 0 ? [`${name}: ${rawHeaders[at + 1]}\n`] : [],
    );
    return `HTTP/${httpVersion} ${statusCode} ${statusMessage}\n${pairs.join('')}\n${text}`;
  }
  const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
  return isJson && showsBody ? (JSON.parse(text) as unknown) : text;
}

/** Words as a shell cuts them: nothing is special inside of single quotes; elsewhere there are variables and `$(cat 'file')`. */
function shellWords(line: string, variables: Readonly<Record<string, string>>): string[] {
  const expanded = (text: string) =>
    text
      .replaceAll(/\$\(cat '([^']*)'\)/g, (_, file: string) => readFileSync(file, 'utf8').trimEnd())
      .replaceAll(/\$(\w+)/g, (_, name: string) => {
        const value = variables[name];
        if (value === undefined) throw new Error(`Nothing has said what ${name} is.`);
        return value;
      });
  const words: string[] = [''];
  const parts = line.trim().matchAll(/'([^']*)'|"([^"]*)"|((?:\\\n|\s)+)|([^\s'"\\]+)/g);
  for (const [, single, double, gap, plain] of parts) {
    if (gap === undefined) words.push(`${words.pop()}${single ?? expanded(double ?? plain ?? '')}`);
    else words.push('');
  }
  return words;
}
