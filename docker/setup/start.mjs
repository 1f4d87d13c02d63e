import { compileService } from './compile.mjs';
import { obtainDataImage } from './data-image.mjs';
import { describeFailure, runCommand } from './failure.mjs';
import { checkNode, inStep, prepareAll } from './prepare.mjs';
import { createProgress } from './progress.mjs';
import { serve } from './serve.mjs';
import { dataFolder, repositoryRoot } from './settings.mjs';

const HELP = `Usage: npm start

Installs the packages, finds or starts a Docker engine, makes the sandbox
image, compiles, and serves on 127.0.0.1:8003. What is there already is not
done again. The second image, for skills that use pandas and matplotlib, is
made while it serves. Ctrl-C stops it.

  PORT                  where it serves (default: 8003)
  SECBOX_DATA_DIR       where everything is kept (default: data)
  SECBOX_AUTH           keys: callers need a key, and one for development is made in
                        the data folder; off: anyone on this machine may do all
  SECBOX_ENGINE         auto: start a private engine where none answers, installing
                        Debian's docker.io if need be (Linux, root, apt-get)
                        external: never install or start an engine
  SECBOX_DEBIAN_MIRROR  where Debian's packages for the image are fetched from
  DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY
                        the engine to use, as with the docker program
  NO_COLOR              no colours

The README lists every variable.
`;

/** The service, and what brings its skills to agents over stdio. */
const STARTED = ['apps/core-api', 'apps/agent-worker'];

await runCommand(async (signal) => {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  checkNode(process.version);
  const { env } = process;
  const progress = createProgress({ stream: process.stdout, env });
  try {
    const { api, endpoint, mountsProgram, subprocessProgram } = await prepareAll({ env, signal, progress });
    await inStep(
      progress,
      'build',
      (say) => compileService({ root: repositoryRoot, env, signal, say, projects: STARTED }),
      () => 'compiled',
    );
    progress.close();
    process.stdout.write(`${summary(progress)}\n`);
    signal.throwIfAborted();
    const programs = { mountsProgram, subprocessProgram };
    const serving = serve(endpoint, { root: repositoryRoot, env, dataDir: dataFolder(env), ...programs });
    const over = new AbortController();
    const image = makeDataImage(api, env, AbortSignal.any([signal, over.signal]));
    try {
      return await serving;
    } finally {
      over.abort();
      await image;
    }
  } finally {
    progress.close();
  }
});

/**
 * Beside the service, as few skills need it and nobody should wait for it.
 *
 * @param {import('./engine-api.mjs').EngineApi} api
 * @param {NodeJS.ProcessEnv} env
 * @param {AbortSignal} signal
 */
async function makeDataImage(api, env, signal) {
  try {
    const { tag, built } = await obtainDataImage(api, { env, signal, say: () => undefined });
    if (built) process.stdout.write(`The image of skills that use pandas and matplotlib is built: ${tag}\n`);
  } catch (error) {
    if (signal.aborted) return;
    process.stdout.write(
      `Skills that use pandas and matplotlib cannot run:\n${describeFailure(error).text}\n`,
    );
  }
}

/** @param {import('./progress.mjs').Progress} progress */
function summary(progress) {
  const split = progress.finished().map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`);
  return `Set-up took ${progress.seconds().toFixed(1)} s: ${split.join(', ')} (packages beside engine and image).`;
}
