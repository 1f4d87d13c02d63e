import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createCommand } from '../../packages/container-engine/dist/cli-arguments.js';
import { createOptions } from '../../packages/container-engine/dist/dockerode-create.js';
import { containerPaths } from '../../packages/container-engine/dist/index.js';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

const SECCOMP = path.join(repositoryRoot, 'docker', 'seccomp.json');
const MEBIBYTE = 1024 ** 2;
const SANDBOX_UID = 1000;

/** @typedef {import('../../packages/container-engine/dist/index.js').ContainerSpec} ContainerSpec */

/**
 * @typedef {object} Folders what a container of another contestant sees of the host
 * @property {string} inputs
 * @property {string} work
 * @property {string} artifacts
 */

/**
 * @param {string} root
 * @returns {Folders}
 */
export function makeFolders(root) {
  const folders = {
    inputs: path.join(root, 'inputs'),
    work: path.join(root, 'work'),
    artifacts: path.join(root, 'artifacts'),
  };
  for (const folder of Object.values(folders)) {
    mkdirSync(folder, { recursive: true });
    if (process.getuid?.() === 0) chownSync(folder, SANDBOX_UID, SANDBOX_UID);
  }
  return folders;
}

/**
 * The container that our own engine adapters would make for an exec that asks for nothing special.
 *
 * @param {{ image: string, folders: Folders, argv: readonly string[] }} options
 * @returns {ContainerSpec}
 */
function specOf({ image, folders, argv }) {
  return {
    imageId: image,
    runtime: 'runc',
    command: argv,
    environment: {},
    workingDirectory: containerPaths.work,
    mounts: /** @type {ContainerSpec['mounts']} */ (/** @type {unknown} */ (folders)),
    readOnlyRoot: true,
    memoryBytes: 1024 * MEBIBYTE,
    cpus: 1,
    pids: 256,
    maxFileBytes: 2048 * MEBIBYTE,
    // Not a server's data folder: it would take the container for one that it has lost sight of.
    owner: { purpose: 'exec', dataDir: path.dirname(folders.work) },
  };
}

/**
 * @param {{ image: string, folders: Folders, argv: readonly string[] }} options
 * @returns {string[]} flags, image and command of docker run
 */
export function runArguments(options) {
  const [, ...flags] = createCommand(specOf(options), SECCOMP, []);
  return flags.filter((flag) => flag !== '--interactive');
}

/**
 * @param {{ image: string, folders: Folders, argv: readonly string[] }} options
 * @returns {Record<string, unknown> & { HostConfig: Record<string, unknown> }} the body of the engine's create call
 */
export function createBody(options) {
  const { HostConfig, ...rest } = createOptions(specOf(options), readFileSync(SECCOMP, 'utf8'));
  return {
    ...rest,
    ...{ AttachStdin: false, OpenStdin: false, StdinOnce: false },
    HostConfig: { ...HostConfig },
  };
}
