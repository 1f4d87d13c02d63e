import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { EngineApi } from './engine-api.mjs';
import { Failure, errorCode } from './failure.mjs';
import { parseJson } from './json.mjs';

const PING_MS = 3_000;

/**
 * @typedef {import('./engine-api.mjs').Endpoint & {
 *   source: 'DOCKER_HOST' | 'context' | 'socket' | 'private',
 *   context?: string,
 * }} FoundEndpoint
 */

/**
 * @typedef {object} Surroundings what decides which engine is used
 * @property {NodeJS.ProcessEnv} env
 * @property {string} home
 * @property {NodeJS.Platform} platform
 * @property {readonly string[]} [defaultHosts] where an engine listens on this platform
 */

/**
 * @param {Surroundings} surroundings
 * @returns {FoundEndpoint[]} where an engine may be, in the order of the docker program
 */
export function candidateEndpoints({ env, home, platform, defaultHosts }) {
  const host = env['DOCKER_HOST'] ?? '';
  if (host !== '') return [{ host, source: 'DOCKER_HOST', ...tlsFromEnvironment(env, home) }];

  const configFolder = env['DOCKER_CONFIG'] || path.join(home, '.docker');
  const fromEnvironment = env['DOCKER_CONTEXT'] ?? '';
  const context = fromEnvironment || currentContext(configFolder);
  if (context !== '' && context !== 'default') return [contextEndpoint(configFolder, context)];

  return (defaultHosts ?? hostsOf(platform, home)).map((each) => ({ host: each, source: 'socket' }));
}

/**
 * @param {Surroundings} surroundings
 * @returns {Promise<FoundEndpoint | undefined>} the engine the user runs, if one answers
 */
export async function findEngine(surroundings) {
  const candidates = candidateEndpoints(surroundings);
  for (const candidate of candidates) {
    const answer = await new EngineApi(candidate).ping(PING_MS);
    if (answer.answers) return candidate;
    if (candidate.source !== 'socket') throw silent(candidate, answer.reason);
    if (answer.code === 'EACCES') {
      throw new Failure(`A Docker engine is there, but this user may not use ${candidate.host}.`, {
        remedy:
          'Add the user to the group docker (sudo usermod -aG docker "$USER", then log in again), or run as root.',
      });
    }
  }
  return undefined;
}

/**
 * @param {FoundEndpoint} endpoint
 * @param {string} reason
 */
function silent(endpoint, reason) {
  const { context } = endpoint;
  // Another engine is not a substitute: the user named this one.
  return context === undefined
    ? new Failure(`DOCKER_HOST is ${endpoint.host}, but no Docker engine answers there (${reason}).`, {
        remedy: 'Start that engine, correct DOCKER_HOST, or unset it to use the default engine.',
      })
    : new Failure(
        `The docker context "${context}" points to ${endpoint.host}, but no Docker engine answers there (${reason}).`,
        { remedy: 'Start that engine, or choose another context with: docker context use default' },
      );
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string} home
 * @returns {{ tls?: { certPath: string, verify: boolean } }}
 */
function tlsFromEnvironment(env, home) {
  const verify = (env['DOCKER_TLS_VERIFY'] ?? '') !== '';
  const certPath = env['DOCKER_CERT_PATH'] ?? '';
  if (!verify && certPath === '') return {};
  return { tls: { certPath: certPath || env['DOCKER_CONFIG'] || path.join(home, '.docker'), verify } };
}

/** @param {string} configFolder */
function currentContext(configFolder) {
  const config = readJson(path.join(configFolder, 'config.json'));
  const name = config?.['currentContext'];
  return typeof name === 'string' ? name : '';
}

/**
 * @param {string} configFolder
 * @param {string} context
 * @returns {FoundEndpoint}
 */
function contextEndpoint(configFolder, context) {
  const id = createHash('sha256').update(context).digest('hex');
  const file = path.join(configFolder, 'contexts', 'meta', id, 'meta.json');
  const meta = readJson(file);
  if (meta === undefined) {
    throw new Failure(`The docker context "${context}" does not exist (no ${file}).`, {
      remedy: 'Choose another with: docker context use default (or unset DOCKER_CONTEXT)',
    });
  }
  const endpoints = /** @type {{ docker?: { Host?: unknown, SkipTLSVerify?: unknown } } | undefined} */ (
    meta['Endpoints']
  );
  const host = endpoints?.docker?.Host;
  if (typeof host !== 'string' || host === '') {
    throw new Failure(`The docker context "${context}" names no Docker engine (${file}).`, {
      remedy: 'Choose another with: docker context use default',
    });
  }
  const certPath = path.join(configFolder, 'contexts', 'tls', id, 'docker');
  const tls = existsSync(certPath)
    ? { tls: { certPath, verify: endpoints?.docker?.SkipTLSVerify !== true } }
    : {};
  return { host, source: 'context', context, ...tls };
}

/**
 * @param {NodeJS.Platform} platform
 * @param {string} home
 */
function hostsOf(platform, home) {
  if (platform === 'win32') return ['npipe:////./pipe/docker_engine'];
  const system = 'unix:///var/run/docker.sock';
  return platform === 'darwin' ? [system, `unix://${home}/.docker/run/docker.sock`] : [system];
}

/**
 * @param {string} file
 * @returns {Record<string, unknown> | undefined}
 */
function readJson(file) {
  try {
    return /** @type {Record<string, unknown>} */ (parseJson(readFileSync(file, 'utf8')));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new Failure(`${file} cannot be read as JSON.`, { remedy: 'Correct or remove it.', cause: error });
  }
}
