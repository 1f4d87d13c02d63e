import { engineMode, openPrivateEngine } from './engine.mjs';
import { EngineApi } from './engine-api.mjs';
import { Failure, runCommand } from './failure.mjs';
import { findEngine } from './find-engine.mjs';
import { enginePaths, privateHost, runningPid, stopPrivateEngine } from './private-engine.mjs';
import { createProgress } from './progress.mjs';
import { obtainRunsc, runscConfig } from './runsc.mjs';
import { dataFolder } from './settings.mjs';
import os from 'node:os';

const HELP = `Usage: npm run engine:start | engine:stop | engine:status | engine:runsc

The private Docker engine of Secbox: a dockerd of its own, with its socket,
data, log and pid file below <data>/engine. It is started by itself where no
other engine answers.

  start   install Debian's docker.io if there is no dockerd, and start it
  stop    stop it, and the sandboxes in it; its images stay for the next start
  status  say whether it runs, and which engine Secbox would use
  runsc   install Debian's runsc (gVisor) if it is not there, and start the engine
          with it, or tell the running one; Settings then choose it

SECBOX_DATA_DIR  the data folder (default: data)
SECBOX_ENGINE    external: never install or start an engine
`;

await runCommand(async (signal) => {
  const [verb, ...rest] = process.argv.slice(2);
  if (verb === undefined || verb === '--help' || verb === '-h' || rest.includes('--help')) {
    process.stdout.write(HELP);
    return 0;
  }
  switch (verb) {
    case 'start':
      return start(signal);
    case 'stop':
      return stop(signal);
    case 'status':
      return status();
    case 'runsc':
      return runsc(signal);
    default:
      throw new Failure(`There is no engine command "${verb}".`, { remedy: HELP });
  }
});

/** @param {AbortSignal} signal */
async function start(signal) {
  const progress = createProgress({ stream: process.stdout, env: process.env });
  const step = progress.step('engine');
  try {
    const dataDir = dataFolder(process.env);
    const engine = await openPrivateEngine({ env: process.env, dataDir, signal, say: step.say });
    step.done(`${engine.startedHere ? 'started' : 'runs already'}: DOCKER_HOST=${engine.endpoint.host}`);
    return 0;
  } finally {
    progress.close();
  }
}

/** @param {AbortSignal} signal */
async function stop(signal) {
  const paths = enginePaths(dataFolder(process.env));
  const stopped = await stopPrivateEngine(paths, { signal });
  process.stdout.write(stopped ? `stopped (its data stays in ${paths.root})\n` : 'was not running\n');
  return 0;
}

/** @param {AbortSignal} signal */
async function runsc(signal) {
  const own = await ownEngine();
  if (own !== undefined && own.host !== privateHost(enginePaths(dataFolder(process.env)))) {
    throw new Failure(`Secbox uses the engine at ${own.host}, whose settings are not ours to change.`, {
      remedy: `Install runsc there, add this to the engine's daemon.json, and reload it:\n${runscConfig('/usr/bin/runsc')}`,
    });
  }
  if (engineMode(process.env) === 'external') throw new Failure('SECBOX_ENGINE=external forbids installing.');
  const progress = createProgress({ stream: process.stdout, env: process.env });
  const step = progress.step('runsc');
  try {
    await obtainRunsc({ env: process.env, signal, say: step.say });
    step.done('is there');
  } finally {
    progress.close();
  }
  return start(signal);
}

async function status() {
  const paths = enginePaths(dataFolder(process.env));
  const pid = await runningPid(paths);
  const host = privateHost(paths);
  if (pid === undefined) {
    process.stdout.write('private engine: stopped\n');
  } else {
    const answer = await new EngineApi({ host }).ping(3_000);
    const state = answer.answers ? 'running' : `running, but does not answer (${answer.reason})`;
    process.stdout.write(`private engine: ${state}, pid ${pid}, DOCKER_HOST=${host}, log ${paths.log}\n`);
  }
  const own = await ownEngine();
  process.stdout.write(
    `engine Secbox uses: ${own === undefined ? 'the private one' : `${own.host} (${own.source})`}\n`,
  );
  return 0;
}

/** The engine that is there without us, if any. */
function ownEngine() {
  return findEngine({ env: process.env, home: os.homedir(), platform: process.platform });
}
