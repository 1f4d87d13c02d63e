import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { serviceArguments } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';

/** @typedef {{ url: string, headers: Record<string, string>, call: (path: string, init?: RequestInit) => Promise<Response> }} Client */
/** @typedef {{ url: string, client: Client, stop: () => Promise<void> }} Service */

/**
 * A server of the bench's own, with a key to it, once it serves.
 *
 * @param {NodeJS.ProcessEnv & { SECBOX_DATA_DIR: string }} env
 * @param {(line: string) => void} [onLogLine] without it, what is logged is shown
 * @returns {Promise<Service>}
 */
export async function startService(env, onLogLine) {
  const child = spawn(process.execPath, serviceArguments(repositoryRoot), {
    env: { ...env, SECBOX_DEV_KEY: 'on', PORT: '0' },
    stdio: ['ignore', 'pipe', onLogLine === undefined ? 'inherit' : 'pipe'],
    // Ctrl-C is to reach it once, through us: a second signal would make it give up its clean-up.
    detached: process.platform !== 'win32',
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  if (child.stderr !== null && onLogLine) createInterface({ input: child.stderr }).on('line', onLogLine);
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    if (child.stdout === null) throw new Error('Its stdout is a pipe.');
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = /Secbox serves on (http:\S+)/.exec(line);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    void ended.then(() => reject(new Error('The service ended before it served.')));
  });
  try {
    const key = readFileSync(path.join(env.SECBOX_DATA_DIR, 'dev.key'), 'utf8').trim();
    const client = clientOf(url, key);
    await liftRateLimit(client);
    return { url, client, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * @param {string} url
 * @param {string} key
 * @returns {Client}
 */
function clientOf(url, key) {
  const headers = { authorization: `Bearer ${key}` };
  return {
    url,
    headers,
    call: async (place, init = {}) => {
      const given = /** @type {Record<string, string>} */ (init.headers ?? {});
      return fetch(`${url}${place}`, { ...init, headers: { ...headers, ...given } });
    },
  };
}

/** @param {Client} client */
async function liftRateLimit(client) {
  const response = await client.call('/settings', {
    method: 'PUT',
    headers: { 'content-type': 'application/json', 'if-match': '"0"' },
    body: JSON.stringify({ quotas: { requests_per_minute: 1_000_000 } }),
  });
  if (!response.ok) throw new Error(`The rate limit could not be lifted: ${await response.text()}`);
}
