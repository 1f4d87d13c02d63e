import path from 'node:path';
import { contentTag, readContext } from './build-context.mjs';
import { imageExists } from './debian-base.mjs';
import { build, obtainImage, removeOutdated, setAlias } from './image.mjs';
import { repositoryRoot } from './settings.mjs';

const REPOSITORY = 'secbox/data';
const ALIAS = `${REPOSITORY}:latest`;

/**
 * Makes sure that the alias names an image made of the present content of
 * docker/data, on the present sandbox image.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {import('./image.mjs').ImageOptions & { sandboxFolder?: string }} options
 * @returns {Promise<{ tag: string, built: boolean }>}
 */
export async function obtainDataImage(api, { folder, sandboxFolder, ...options }) {
  const files = readContext(folder ?? path.join(repositoryRoot, 'docker', 'data'));
  const sandbox = {
    ...options,
    rebuild: false,
    ...(sandboxFolder === undefined ? {} : { folder: sandboxFolder }),
  };
  const { tag: base } = await obtainImage(api, sandbox);
  const tag = `${REPOSITORY}:${contentTag(files, base)}`;
  options.say('looking it up');
  const isThere = options.rebuild !== true && (await imageExists(api, tag));
  if (!isThere) await build(api, { what: 'The data image', files, base, tag }, options);
  await setAlias(api, tag, ALIAS);
  if (!isThere) await removeOutdated(api, [REPOSITORY], [tag, ALIAS]);
  return { tag, built: !isThere };
}
