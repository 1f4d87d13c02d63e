import { compileService } from './compile.mjs';
import { runCommand } from './failure.mjs';
import { checkNode, inStep, prepareAll } from './prepare.mjs';
import { createProgress } from './progress.mjs';
import { serve } from './serve.mjs';
import { dataFolder, repositoryRoot } from './settings.mjs';

const HELP = `Usage: npm start

Installs the packages, finds or starts a Docker engine, makes the sandbox
image, compiles, and serves on 127.0.0.1:8003. What is there already is not
done again. Ctrl-C stops it.

  PORT                  where it serves (default: 8003)
  SECBOX_DATA_DIR       where everything is kept (default: data)
  SECBOX_ENGINE         auto: start a private engine where none answers, installing
                        Debian's docker.io if need be (Linux, root, apt-get)
                        external: never install or start an engine
  SECBOX_DEBIAN_MIRROR  where Debian's packages for the image are fetched from
  DOCKER_HOST, DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_CERT_PATH, DOCKER_TLS_VERIFY
                        the engine to use, as with the docker program
  NO_COLOR              no colours

The README lists every variable.
`;

await runCommand(async (signal) => {
  if (process.argv.slice(2).some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(HELP);
    return 0;
  }
  checkNode(process.version);
  const { env } = process;
  const progress = createProgress({ stream: process.stdout, env });
  try {
    const { endpoint } = await prepareAll({ env, signal, progress });
    await inStep(
      progress,
      'build',
      (say) => compileService({ root: repositoryRoot, env, signal, say }),
      () => 'compiled',
    );
    progress.close();
    process.stdout.write(`${summary(progress)}\n`);
    signal.throwIfAborted();
    return await serve(endpoint, { root: repositoryRoot, env, dataDir: dataFolder(env) });
  } finally {
    progress.close();
  }
});

/** @param {import('./progress.mjs').Progress} progress */
function summary(progress) {
  const split = progress.finished().map(({ name, seconds }) => `${name} ${seconds.toFixed(1)} s`);
  return `Set-up took ${progress.seconds().toFixed(1)} s: ${split.join(', ')} (packages beside engine and image).`;
}
