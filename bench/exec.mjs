import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { runCommand } from '../docker/setup/failure.mjs';
import { prepareAll } from '../docker/setup/prepare.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { engineEnvironment, serviceArguments } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { ratio, summarize, tableOf } from './summary.mjs';

const HELP = `Usage: npm run bench:exec -- [--runs N] [--json FILE]

A cold python -c 'print(1)' through the HTTP API against docker run --rm with
the same flags, alternating; and of it what is not the engine's: HTTP, policy,
row, inputs, collecting. Needs the docker program.
`;

const WARM_UP = 3;
const CODE = 'print(1)';
const parseEntry = /** @type {(line: string) => Record<string, unknown>} */ (JSON.parse);

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: { runs: { type: 'string', default: '60' }, json: { type: 'string' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const progress = createProgress({ stream: process.stdout, env: process.env });
  const { endpoint } = await prepareAll({ env: process.env, signal, progress });
  const say = () => undefined;
  await compileService({ root: repositoryRoot, env: process.env, signal, say });
  progress.close();

  const dataDir = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'secbox-bench-')));
  const env = {
    ...process.env,
    ...engineEnvironment(endpoint),
    SECBOX_DATA_DIR: dataDir,
    PORT: '0',
    SECBOX_LOG_LEVEL: 'debug',
    SECBOX_LOG_FORMAT: 'json',
  };
  const service = await startService(env);
  try {
    /** @type {number[]} */
    const own = [];
    const exec = async () => {
      const start = performance.now();
      const execId = await postExec(service.url);
      own.push(performance.now() - start - service.engineMs(execId));
    };
    await exec();
    const run = dockerRun(env, path.join(dataDir, 'workspace/projects/bench'));
    const times = await alternate({ api: exec, 'docker run': run }, Number(values.runs));
    const measured = { ...times, 'not the engine': own.slice(-Number(values.runs)) };
    const results = Object.entries(measured).map(([name, list]) => summarize(name, list));
    const [api, docker] = results;
    if (!api || !docker) throw new Error('Nothing was measured.');
    const figures = {
      runs: Number(values.runs),
      results,
      ratio_p50: ratio(api.p50, docker.p50),
      ratio_p95: ratio(api.p95, docker.p95),
    };
    process.stdout.write(
      `${tableOf(results)}\napi / docker run: p50 ${figures.ratio_p50}, p95 ${figures.ratio_p95}\n`,
    );
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
    return 0;
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
});

/**
 * @param {Record<string, () => Promise<void>>} contestants
 * @param {number} runs
 * @returns {Promise<Record<string, number[]>>} milliseconds
 */
async function alternate(contestants, runs) {
  /** @type {Record<string, number[]>} */
  const times = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]));
  for (let n = -WARM_UP; n < runs; n += 1) {
    for (const [name, contestant] of Object.entries(contestants)) {
      const start = performance.now();
      await contestant();
      if (n >= 0) times[name]?.push(performance.now() - start);
    }
  }
  return times;
}

/** @param {NodeJS.ProcessEnv} env */
async function startService(env) {
  const child = spawn(process.execPath, serviceArguments(repositoryRoot), {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const lines = createInterface({ input: child.stdout });
  /** @type {Map<string, number>} */
  const engineMs = new Map();
  createInterface({ input: child.stderr }).on('line', (line) => {
    const { event, level, exec_id, engine_ms } = parseEntry(line);
    if (event === 'exec.ran') engineMs.set(String(exec_id), Number(engine_ms));
    if (level === 'error') process.stderr.write(`${line}\n`);
  });
  /** @type {string} */
  const url = await new Promise((resolve, reject) => {
    lines.on('line', (line) => {
      const match = /Secbox serves on (http:\S+)/.exec(line);
      if (match?.[1] !== undefined) resolve(match[1]);
    });
    void ended.then(() => reject(new Error('The service ended before it served.')));
  });
  return {
    url,
    /** @param {string} execId whose log line was written before its answer */
    engineMs: (execId) => engineMs.get(execId) ?? Number.NaN,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** @param {string} url */
async function postExec(url) {
  const response = await fetch(`${url}/sandbox/execs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      project_id: 'bench',
      exec: { kind: 'python', command: 'python', args: ['-c', CODE] },
    }),
  });
  const answer = /** @type {{ exec_id: string, stdout?: string }} */ (await response.json());
  if (answer.stdout !== '1\n') throw new Error(`The exec did not print 1: ${JSON.stringify(answer)}`);
  return answer.exec_id;
}

/**
 * What a user would type to get the same container.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} project a folder that the service has made
 */
function dockerRun(env, project) {
  /** @type {(source: string, target: string, more?: string) => string[]} */
  const mount = (source, target, more = '') => [
    '--mount',
    `type=bind,source=${project}/${source},target=/workspace/${target}${more}`,
  ];
  const flags = [
    ...['--network=none', '--cap-drop=ALL', '--security-opt=no-new-privileges', '--pids-limit=256'],
    `--security-opt=seccomp=${path.join(repositoryRoot, 'docker/seccomp.json')}`,
    ...['--memory=1g', '--memory-swap=1g', '--cpus=1', '--user=1000:1000', '--workdir=/workspace/work'],
    ...['--read-only', '--shm-size=16m', '--ulimit=core=0', '--ulimit=nofile=1024', '--log-driver=none'],
    ...[
      '--tmpfs=/tmp:rw,exec,nosuid,nodev,size=128m',
      '--tmpfs=/home/sandbox:rw,exec,nosuid,nodev,size=64m,uid=1000,gid=1000',
    ],
    ...mount('inputs', 'inputs', ',readonly'),
    ...mount('work', 'work'),
    ...mount('artifacts', 'artifacts'),
  ];
  return async () => {
    const { stdout } = await promisify(execFile)(
      'docker',
      ['run', '--rm', ...flags, 'secbox/sandbox:latest', 'python', '-c', CODE],
      { env },
    );
    if (stdout !== '1\n') throw new Error(`docker run did not print 1: ${stdout}`);
  };
}
