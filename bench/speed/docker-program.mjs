import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkOutput } from './programs.mjs';
import { runQuietly } from './run-quietly.mjs';
import { runArguments } from './sandbox-flags.mjs';

/** @typedef {import('./programs.mjs').Program} Program */
/** @typedef {{ image: string, folders: import('./sandbox-flags.mjs').Folders, env: NodeJS.ProcessEnv }} DockerOptions */

/**
 * What a user would type to get the same container, its input written before and its artifact read afterwards.
 *
 * @param {DockerOptions} options
 * @returns {(program: Program) => Promise<void>}
 */
export function dockerRun({ image, folders, env }) {
  return async (program) => {
    const { input, artifact, argv } = program;
    const written = artifact && path.join(folders.artifacts, artifact.path);
    if (written !== undefined) rmSync(written, { force: true });
    if (input) writeFileSync(path.join(folders.inputs, input.path), input.content);
    const args = ['run', '--rm', ...runArguments({ image, folders, argv })];
    checkOutput(program, await runQuietly('docker', args, { env }));
    if (written !== undefined && readFileSync(written, 'utf8') !== artifact?.content)
      throw new Error('docker run left no artifact');
  };
}

/**
 * One container for all, which is no longer a sandbox between them.
 *
 * @param {DockerOptions} options
 * @returns {Promise<{ run: (program: Program) => Promise<void>, stop: () => Promise<void> }>}
 */
export async function dockerExec({ image, folders, env }) {
  const args = runArguments({ image, folders, argv: ['sleep', 'infinity'] });
  const id = (await runQuietly('docker', ['run', '--detach', '--rm', ...args], { env })).trim();
  return {
    run: async (program) =>
      checkOutput(program, await runQuietly('docker', ['exec', id, ...program.argv], { env })),
    stop: async () => {
      await runQuietly('docker', ['rm', '--force', id], { env });
    },
  };
}
