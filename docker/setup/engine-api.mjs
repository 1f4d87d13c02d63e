import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Failure, errorCode, errorMessage } from './failure.mjs';
import { parseJson } from './json.mjs';

/**
 * @typedef {object} Endpoint
 * @property {string} host in the form of DOCKER_HOST
 * @property {{ certPath: string, verify: boolean }} [tls]
 */

/**
 * @typedef {object} EngineRequest
 * @property {Record<string, string>} [query]
 * @property {unknown} [json]
 * @property {Buffer | Readable} [body] sent as it is
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 */

/** An answer of the engine that is not a success. */
export class EngineError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   */
  constructor(status, message) {
    super(message);
    this.name = 'EngineError';
    this.status = status;
  }
}

/** The few calls of the Docker Engine API that set-up needs, without a client library or the docker program. */
export class EngineApi {
  /** @param {Endpoint} endpoint */
  constructor(endpoint) {
    this.endpoint = endpoint;
    this.transport = transportOf(endpoint);
  }

  /**
   * @param {number} timeoutMs
   * @returns {Promise<{ answers: true } | { answers: false, reason: string, code: string | undefined }>}
   */
  async ping(timeoutMs) {
    try {
      const text = await this.text('GET', '/_ping', { signal: AbortSignal.timeout(timeoutMs) });
      return text === 'OK'
        ? { answers: true }
        : { answers: false, reason: 'something answered that is not a Docker engine', code: undefined };
    } catch (error) {
      const code = errorCode(error);
      const reason = code === 'ABORT_ERR' ? `no answer within ${timeoutMs / 1000} s` : errorMessage(error);
      return { answers: false, reason, code };
    }
  }

  /**
   * @param {string} method
   * @param {string} route
   * @param {EngineRequest} [request]
   * @returns {Promise<unknown>} the answer's JSON
   */
  async call(method, route, request = {}) {
    const text = await this.text(method, route, request);
    return text === '' ? undefined : parseJson(text);
  }

  /**
   * @param {string} method
   * @param {string} route
   * @param {EngineRequest} [request]
   * @returns {Promise<string>} the answer as it is
   */
  async text(method, route, request = {}) {
    const { body } = await this.#open(method, route, request);
    return readAll(body);
  }

  /**
   * @param {string} method
   * @param {string} route
   * @param {EngineRequest} [request]
   * @returns {Promise<Buffer>} the answer, which is no text
   */
  async bytes(method, route, request = {}) {
    const { body } = await this.#open(method, route, request);
    return readBytes(body);
  }

  /**
   * A call that answers with a stream of JSON messages. The engine reports an
   * error that comes after its 200 as a message, which is thrown here.
   *
   * @param {string} method
   * @param {string} route
   * @param {EngineRequest} request
   * @param {(message: EngineMessage) => void} onMessage
   */
  async messages(method, route, request, onMessage) {
    const { body } = await this.#open(method, route, request);
    for await (const line of createInterface({ input: body })) {
      if (line.trim() === '') continue;
      const message = /** @type {EngineMessage} */ (parseJson(line));
      if (message.error !== undefined) {
        body.destroy();
        throw new EngineError(500, message.error);
      }
      onMessage(message);
    }
  }

  /**
   * @param {string} method
   * @param {string} route
   * @param {EngineRequest} request
   * @returns {Promise<{ body: http.IncomingMessage }>}
   */
  async #open(method, route, { query, json, body, headers = {}, signal }) {
    const search = query === undefined ? '' : `?${new URLSearchParams(query).toString()}`;
    const payload = json === undefined ? body : Buffer.from(JSON.stringify(json));
    /** @type {http.IncomingMessage} */
    const response = await new Promise((resolve, reject) => {
      const request = this.transport.request({
        ...this.transport.options,
        method,
        path: route + search,
        headers: json === undefined ? headers : { ...headers, 'Content-Type': 'application/json' },
        // A connection kept for later would keep the process alive.
        agent: false,
        signal,
      });
      request.once('response', resolve);
      request.once('error', reject);
      if (payload instanceof Readable) {
        // A body that breaks off must break the request too: a half tar is not to look complete.
        payload.once('error', (error) => request.destroy(error));
        payload.pipe(request);
      } else {
        request.end(payload);
      }
    });
    const status = response.statusCode ?? 0;
    if (status >= 400) throw new EngineError(status, messageOf(await readAll(response)));
    return { body: response };
  }
}

/**
 * @typedef {object} EngineMessage
 * @property {string} [stream] build output
 * @property {string} [status]
 * @property {string} [id] layer
 * @property {{ current?: number, total?: number }} [progressDetail]
 * @property {string} [error]
 */

/**
 * @param {Endpoint} endpoint
 * @returns {{ request: typeof http.request, options: https.RequestOptions }}
 */
function transportOf({ host, tls }) {
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/.exec(host) ?? [];
  switch (scheme) {
    case 'unix':
      return { request: http.request, options: { socketPath: rest } };
    case 'npipe':
      return { request: http.request, options: { socketPath: rest.replaceAll('/', '\\') } };
    case 'tcp':
    case 'http':
    case 'https': {
      const url = new URL(`http://${rest}`);
      const secure = scheme === 'https' || tls !== undefined;
      const address = {
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: url.port || (secure ? 2376 : 2375),
      };
      return secure
        ? { request: https.request, options: { ...address, ...certificates(tls) } }
        : { request: http.request, options: address };
    }
    case 'ssh':
      throw new Failure(`The Docker engine at ${host} is reached over ssh, which Secbox does not speak.`, {
        remedy:
          'Forward its socket and point DOCKER_HOST to that, for example:\n' +
          `  ssh -nNT -L /tmp/engine.sock:/var/run/docker.sock ${rest.replace(/\/.*$/, '')} &\n` +
          '  DOCKER_HOST=unix:///tmp/engine.sock npm start',
      });
    default:
      throw new Failure(`"${host}" is not an address of a Docker engine.`, {
        remedy: 'It has the form unix:///path, tcp://host:port or npipe:////./pipe/name.',
      });
  }
}

/**
 * @param {Endpoint['tls']} tls
 * @returns {https.RequestOptions}
 */
function certificates(tls) {
  if (tls === undefined) return {};
  /** @param {string} name */
  const read = (name) => {
    try {
      return readFileSync(path.join(tls.certPath, name));
    } catch (error) {
      // Each of the three may be absent: a server may ask for no client certificate, or have a public one.
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  };
  return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem'), rejectUnauthorized: tls.verify };
}

/** @param {http.IncomingMessage} body */
async function readAll(body) {
  return (await readBytes(body)).toString('utf8');
}

/** @param {http.IncomingMessage} body */
async function readBytes(body) {
  /** @type {Buffer[]} */
  const chunks = [];
  body.on('data', (/** @type {Buffer} */ chunk) => chunks.push(chunk));
  await finished(body);
  return Buffer.concat(chunks);
}

/** @param {string} text */
function messageOf(text) {
  try {
    const { message } = /** @type {{ message?: unknown }} */ (parseJson(text));
    return typeof message === 'string' ? message : text;
  } catch {
    return text;
  }
}
