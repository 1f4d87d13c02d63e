import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Failure } from '../../docker/setup/failure.mjs';
import { runProgram } from '../../docker/setup/run-program.mjs';
import { dataFolder } from '../../docker/setup/settings.mjs';
import { checkOutput } from './programs.mjs';
import { createBody } from './sandbox-flags.mjs';

/** The newest that runs on Node 20. */
const VERSION = '11.14.0';

/**
 * The part of it that is used. Both options are protected: not all of our flags have a method.
 *
 * @typedef {{ new (image: string): { hostConfig: object, createOpts: object, start(): Promise<StartedContainer> } }} GenericContainer
 * @typedef {{ exec(argv: readonly string[]): Promise<{ stdout: string, exitCode: number }>, stop(options: { timeout: number }): Promise<unknown> }} StartedContainer
 */

/**
 * testcontainers-node: a container with the same flags is started, the program run in it, and the container removed.
 *
 * @param {{ image: string, folders: import('./sandbox-flags.mjs').Folders, env: NodeJS.ProcessEnv, install: boolean, signal: AbortSignal, say: (doing: string) => void }} options
 * @returns {Promise<(program: import('./programs.mjs').Program) => Promise<void>>}
 */
export async function testcontainers({ image, folders, ...options }) {
  const folder = await obtain(options);
  // It reads them when it first meets an engine. The image of its reaper is not everywhere to be had.
  Object.assign(process.env, {
    DOCKER_HOST: options.env['DOCKER_HOST'],
    TESTCONTAINERS_RYUK_DISABLED: 'true',
    // It would look for the address of a bridge, which a private engine does not have.
    TESTCONTAINERS_HOST_OVERRIDE: 'localhost',
  });
  const load = /** @type {(name: string) => unknown} */ (createRequire(path.join(folder, 'package.json')));
  const { GenericContainer } = /** @type {{ GenericContainer: GenericContainer }} */ (load('testcontainers'));
  const { HostConfig, ...rest } = createBody({ image, folders, argv: ['sleep', 'infinity'] });
  return async (program) => {
    const generic = new GenericContainer(image);
    Object.assign(generic.hostConfig, HostConfig);
    Object.assign(generic.createOpts, rest);
    const container = await generic.start();
    try {
      checkOutput(program, (await container.exec(program.argv)).stdout);
    } finally {
      await container.stop({ timeout: 0 });
    }
  };
}

/**
 * Installed once, beside our data: it is no dependency of ours.
 *
 * @param {{ env: NodeJS.ProcessEnv, install: boolean, signal: AbortSignal, say: (doing: string) => void }} options
 * @returns {Promise<string>} the folder that has it
 */
async function obtain({ env, install, signal, say }) {
  const folder = path.join(dataFolder(env), 'bench', `testcontainers-${VERSION}`);
  if (existsSync(folder)) return folder;
  if (!install) throw new Failure('it is not installed, and is not to be.');
  say(`installing testcontainers ${VERSION}`);
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    writeFileSync(path.join(unfinished, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `testcontainers@${VERSION}`];
    const { code, lines } = await runProgram('npm', args, { cwd: unfinished, env, signal });
    if (code !== 0) throw new Failure(`npm could not install it: ${lines.at(-1) ?? ''}`);
    renameSync(unfinished, folder);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}
