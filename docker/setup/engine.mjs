import os from 'node:os';
import { aptInstall, canUseApt } from './apt.mjs';
import { EngineApi } from './engine-api.mjs';
import { Failure } from './failure.mjs';
import { findEngine } from './find-engine.mjs';
import {
  enginePaths,
  isConfigured,
  privateEngineAnswers,
  privateHost,
  startPrivateEngine,
} from './private-engine.mjs';
import { findProgram, runProgram, systemPath } from './run-program.mjs';
import { existsSync } from 'node:fs';

/**
 * @typedef {object} EngineOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {string} dataDir
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 * @property {readonly string[]} [defaultHosts] where an engine listens on this platform
 */

/**
 * @typedef {object} Engine
 * @property {import('./find-engine.mjs').FoundEndpoint} endpoint
 * @property {EngineApi} api
 * @property {boolean} startedHere whether this very process started it
 */

/**
 * The engine the user runs, else our private one, started and if need be
 * installed.
 *
 * @param {EngineOptions} options
 * @returns {Promise<Engine>}
 */
export async function openEngine(options) {
  const { env, dataDir, say, defaultHosts } = options;
  const mode = engineMode(env);
  say('looking for one');
  const found = await findEngine({
    env,
    home: os.homedir(),
    platform: process.platform,
    ...(defaultHosts === undefined ? {} : { defaultHosts }),
  });
  if (found !== undefined) return { endpoint: found, api: new EngineApi(found), startedHere: false };
  if (mode === 'external') {
    throw new Failure(
      'No Docker engine answers, and SECBOX_ENGINE=external forbids installing or starting one.',
      {
        remedy: engineAdvice(process.platform),
      },
    );
  }
  return openPrivateEngine({ env, dataDir, signal: options.signal, say });
}

/**
 * @param {EngineOptions} options
 * @returns {Promise<Engine>}
 */
export async function openPrivateEngine({ env, dataDir, signal, say }) {
  if (engineMode(env) === 'external') {
    throw new Failure('SECBOX_ENGINE=external forbids starting a private engine.', {
      remedy: 'Unset SECBOX_ENGINE, or start an engine of your own.',
    });
  }
  const paths = enginePaths(dataDir);
  /** @param {boolean} startedHere @returns {Engine} */
  const engine = (startedHere) => {
    /** @type {import('./find-engine.mjs').FoundEndpoint} */
    const endpoint = { host: privateHost(paths), source: 'private' };
    return { endpoint, api: new EngineApi(endpoint), startedHere };
  };
  if (isConfigured(paths, env) && (await privateEngineAnswers(paths))) return engine(false);
  const dockerd = await obtainDockerd({ env, signal, say });
  const { startedHere } = await startPrivateEngine(paths, { dockerd, env, signal, say });
  return engine(startedHere);
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {'auto' | 'external'}
 */
export function engineMode(env) {
  const mode = env['SECBOX_ENGINE'] ?? '';
  if (mode === '' || mode === 'auto') return 'auto';
  if (mode === 'external') return 'external';
  throw new Failure(`SECBOX_ENGINE is "${mode}", which means nothing.`, {
    remedy:
      'auto (the default) starts a private engine where none answers; external forbids installing and starting one.',
  });
}

/**
 * @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal, say: (doing: string) => void }} options
 * @returns {Promise<string>} the path of dockerd
 */
async function obtainDockerd(options) {
  const searchPath = systemPath(options.env);
  const root = process.platform === 'linux' && process.getuid?.() === 0;
  const present = findProgram('dockerd', searchPath);
  if (root && present !== undefined) return present;
  if (!canUseApt(options.env)) {
    throw new Failure('No Docker engine answers, and one cannot be installed from here.', {
      remedy: engineAdvice(process.platform),
    });
  }
  await aptInstall(['docker.io', 'ca-certificates'], options);
  await disableServices(options);
  const installed = findProgram('dockerd', searchPath);
  if (installed === undefined) throw new Failure('docker.io is installed, but there is no dockerd.');
  return installed;
}

/**
 * The package is installed for our private engine only: the system must not
 * start one of its own at the next boot.
 *
 * @param {{ env: NodeJS.ProcessEnv, signal: AbortSignal }} options
 */
async function disableServices({ env, signal }) {
  if (!existsSync('/run/systemd/system')) return;
  const units = ['docker.service', 'docker.socket', 'containerd.service'];
  await runProgram('systemctl', ['disable', ...units], { env: { ...env, PATH: systemPath(env) }, signal });
}

/**
 * @param {NodeJS.Platform} platform
 * @returns {string} what to install here, exactly
 */
export function engineAdvice(platform) {
  const then = 'Then run the command again. An engine elsewhere is used when DOCKER_HOST names it.';
  if (platform === 'darwin') {
    return `Install Docker Desktop for Mac (or: brew install colima docker && colima start) and start it. ${then}`;
  }
  if (platform === 'win32') {
    return `Install Docker Desktop for Windows with its WSL 2 backend, and start it. ${then}`;
  }
  return [
    'Install a Docker engine and start it:',
    '  Debian, Ubuntu:  sudo apt-get install docker.io && sudo systemctl enable --now docker',
    '  Fedora:          sudo dnf install moby-engine && sudo systemctl enable --now docker',
    '  Arch:            sudo pacman -S docker && sudo systemctl enable --now docker',
    'and let this user use it: sudo usermod -aG docker "$USER", then log in again.',
    'On Debian or Ubuntu as root, without SECBOX_ENGINE=external, this command installs and starts one itself.',
    then,
  ].join('\n');
}
