import path from 'node:path';
import { contentTag, readContext, writeTar } from './build-context.mjs';
import { DEBIAN_BASE, canMakeDebianBase, imageExists, obtainDebianBase } from './debian-base.mjs';
import { EngineError } from './engine-api.mjs';
import { Failure, errorMessage } from './failure.mjs';
import { pullImage } from './pull-image.mjs';
import { repositoryRoot } from './settings.mjs';

const REPOSITORY = 'secbox/sandbox';
const ALIAS = `${REPOSITORY}:latest`;
const REGISTRY_BASE = 'python:3.12-slim';
const COMPILER = 'secbox/sandbox-compiler:latest';
const OURS = [REPOSITORY, 'secbox/sandbox-base'];
const WHAT = 'The sandbox image';
const UNDER_WAY_MS = 600_000;
const PACKAGE_LIST = 'packages.txt';
const SANDBOX = path.join(repositoryRoot, 'docker', 'sandbox');

/**
 * @typedef {object} ImageOptions
 * @property {NodeJS.ProcessEnv} env
 * @property {AbortSignal} signal
 * @property {(doing: string) => void} say
 * @property {boolean} [rebuild] even if it is there
 * @property {string} [folder] of the Dockerfile
 */

/**
 * Makes sure that the alias names an image made of the present content of
 * docker/sandbox.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {ImageOptions} options
 * @returns {Promise<{ tag: string, built: boolean }>}
 */
export async function obtainImage(api, options) {
  const files = readContext(options.folder ?? SANDBOX);
  const tags = [REGISTRY_BASE, DEBIAN_BASE].map((base) => `${REPOSITORY}:${contentTag(files, base)}`);
  if (options.rebuild !== true) {
    options.say('looking it up');
    for (const tag of tags) {
      if (await imageExists(api, tag)) {
        await setAlias(api, tag, ALIAS);
        return { tag, built: false };
      }
    }
  }
  const { base, name } = await obtainBase(api, files, options);
  const tag = `${REPOSITORY}:${contentTag(files, name)}`;
  await build(api, { what: WHAT, files, base, tag }, options);
  // From the cache of the build before: only the tag is new.
  const compiler = { what: WHAT, files, base, tag: COMPILER, target: 'compiler' };
  await build(api, compiler, { ...options, rebuild: false });
  await setAlias(api, tag, ALIAS);
  await removeOutdated(api, OURS, [tag, ALIAS, base, COMPILER]);
  return { tag, built: true };
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {ImageOptions} options
 * @returns {Promise<string>} the image that the programs of ours in C are compiled in
 */
export async function obtainCompiler(api, options) {
  if (await imageExists(api, COMPILER)) return COMPILER;
  const files = readContext(options.folder ?? SANDBOX);
  const { base } = await obtainBase(api, files, options);
  const compiler = { what: WHAT, files, base, tag: COMPILER, target: 'compiler' };
  await build(api, compiler, { ...options, rebuild: false });
  return COMPILER;
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {readonly import('./build-context.mjs').ContextFile[]} files
 * @param {ImageOptions} options
 * @returns {Promise<{ base: string, name: string }>} the image to build on, and its name in the content tag
 */
async function obtainBase(api, files, options) {
  const pulled = await pullImage(api, REGISTRY_BASE, options);
  if (pulled.ok || (await imageExists(api, REGISTRY_BASE)))
    return { base: REGISTRY_BASE, name: REGISTRY_BASE };
  if (!canMakeDebianBase(options.env)) {
    throw new Failure(`The engine cannot pull ${REGISTRY_BASE} (${pulled.reason}).`, {
      remedy:
        'Let the engine reach its registry, or load the image by hand (docker save on a machine that has it, ' +
        'docker load here). On Debian or Ubuntu as root, with apt-get, a base is made of Debian packages instead.',
    });
  }
  options.say(`no registry answers (${pulled.reason})`);
  const list = files.find(({ name }) => name === PACKAGE_LIST)?.content.toString('utf8') ?? '';
  return { base: await obtainDebianBase(api, list, options), name: DEBIAN_BASE };
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {{ what: string, files: readonly import('./build-context.mjs').ContextFile[], base: string, tag: string, target?: string }} image
 * @param {ImageOptions} options
 */
export async function build(api, { what, files, base, tag, target }, { signal, say, rebuild }) {
  say(`building ${tag}`);
  /** @type {string[]} */
  const output = [];
  const query = {
    // The tag is set by the engine at the very end: a build that is killed leaves none.
    t: tag,
    buildargs: JSON.stringify({ BASE: base }),
    labels: JSON.stringify({ secbox: 'image' }),
    ...(target === undefined ? {} : { target }),
    rm: '1',
    forcerm: '1',
    ...(rebuild === true ? { nocache: '1' } : {}),
    ...((await hasBridge(api)) ? {} : { networkmode: 'host' }),
  };
  const request = { query, body: writeTar(files), headers: { 'Content-Type': 'application/x-tar' }, signal };
  try {
    await api.messages('POST', '/build', request, ({ stream }) => {
      const line = stream?.trim() ?? '';
      if (line === '') return;
      output.push(line);
      const step = /^Step (\d+\/\d+)/.exec(line)?.[1];
      if (step !== undefined) say(`building ${tag}: step ${step}`);
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure(`${what} could not be built.`, {
      details: [...output.slice(-25), errorMessage(error)].join('\n'),
      remedy: 'Try again with: npm run image',
      cause: error,
    });
  }
}

/** @param {import('./engine-api.mjs').EngineApi} api */
async function hasBridge(api) {
  const networks = /** @type {{ Name: string }[]} */ (await api.call('GET', '/networks'));
  return networks.some(({ Name }) => Name === 'bridge');
}

/**
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {string} tag
 * @param {string} alias
 */
export async function setAlias(api, tag, alias) {
  const [repo = '', name = ''] = alias.split(':');
  await api.call('POST', `/images/${tag}/tag`, { query: { repo, tag: name } });
}

/**
 * Removes our images that the present content does not need. One that a
 * container still uses stays until a later rebuild, and so does a nameless one
 * of the last minutes: it may be a step of a build that runs beside us.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {readonly string[]} repositories
 * @param {readonly string[]} needed
 */
export async function removeOutdated(api, repositories, needed) {
  const query = { filters: JSON.stringify({ label: ['secbox=image'] }) };
  const images = /** @type {{ Id: string, RepoTags: string[] | null, Created: number }[]} */ (
    await api.call('GET', '/images/json', { query })
  );
  const outdated = images
    .flatMap(({ RepoTags }) => RepoTags ?? [])
    .filter(
      (name) =>
        repositories.some((repository) => name.startsWith(`${repository}:`)) && !needed.includes(name),
    );
  const nameless = images
    .filter(({ RepoTags }) => (RepoTags ?? []).every((name) => name === '<none>:<none>'))
    .filter(({ Created }) => Date.now() - Created * 1000 > UNDER_WAY_MS)
    .map(({ Id }) => Id);
  for (const name of [...outdated, ...nameless]) {
    try {
      await api.call('DELETE', `/images/${name}`);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
    }
  }
}
