import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { compileService } from '../../docker/setup/compile.mjs';
import { Failure, runCommand } from '../../docker/setup/failure.mjs';
import { inStep, prepareAll } from '../../docker/setup/prepare.mjs';
import { createProgress } from '../../docker/setup/progress.mjs';
import { engineEnvironment, mountsEnvironment } from '../../docker/setup/serve.mjs';
import { repositoryRoot } from '../../docker/setup/settings.mjs';
import { unmountBelow } from '../../docker/setup/unmount.mjs';
import { readOptions, wholeNumber } from '../options.mjs';
import { openApi } from './api.mjs';
import { Figures } from './figures.mjs';
import { tableOf, verdictLines } from './report.mjs';
import { judge } from './targets.mjs';

const HELP = `Usage: npm run bench -- [--runs N] [--seconds N] [--only SECTION,…] [--out FILE]
                        [--no-install] [--check]

How long an exec takes through the HTTP API, and how long what a user would do
instead takes, by turns, on servers of its own. Prints one table and what became
of each target, and writes both as JSON. Needs Linux, the docker program and some
18 minutes; on a machine that does something else as well the figures say little.

  others      warm execs at gaps of 1000 ms, and cold ones, against docker run
              --rm with the same flags, docker exec, testcontainers-node,
              bubblewrap, and python on the bare host
  gaps        execs at gaps of 250 ms, and without any against cold ones; how
              many found a container that waited
  projects    a new project and an idle one against a busy one
  sustained   8 at once through the API, against the engine alone

  --runs N      how many of each (100)
  --seconds N   how long each lasts of sustained (60)
  --only S,…    these sections only
  --out FILE    where the JSON goes (bench/results/<time>.json)
  --no-install  leaves out whom it would have to install
  --check       ends with 1 when a target is missed

Of a time, own is what was not the engine's: HTTP, policy, rows, files.

What is missing is installed and said so: testcontainers-node into the data
folder, bubblewrap by apt-get. Ends with 1 when a run failed.
`;

await runCommand(async (signal) => {
  const { values } = readOptions(() =>
    parseArgs({
      options: {
        runs: { type: 'string', default: '100' },
        seconds: { type: 'string', default: '60' },
        only: { type: 'string', default: 'others,gaps,projects,sustained' },
        out: { type: 'string' },
        'no-install': { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h' },
      },
    }),
  );
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const runs = wholeNumber('--runs', values.runs, 1);
  const seconds = wholeNumber('--seconds', values.seconds, 1);
  const chosen = chosenSections(values.only);
  const begun = new Date();
  const out = path.resolve(
    values.out ??
      path.join(repositoryRoot, 'bench/results', `${begun.toISOString().replaceAll(':', '-')}.json`),
  );

  const progress = createProgress({ stream: process.stdout, env: process.env });
  const { endpoint, api: engine, mountsProgram } = await prepareAll({ env: process.env, signal, progress });
  await compileService({ root: repositoryRoot, env: process.env, signal, say: () => undefined });
  const env = { ...process.env, ...engineEnvironment(endpoint), ...mountsEnvironment(mountsProgram) };
  const machine = await describeMachine(engine);
  const figures = new Figures();
  /** @type {import('./figures.mjs').Result[]} */
  const results = [];
  /** @type {{ contestant: string, why: string }[]} */
  const skipped = [];
  const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'secbox-bench-')));
  try {
    await withServers(env, folder, async (servers) => {
      const { warm, cold } = servers;
      const { warm: isWarm, why } = await warm.pool();
      if (!isWarm) progress.note(`  No container waits, so that every exec is cold: ${why}`);
      for (const [name, section] of chosen) {
        await inStep(
          progress,
          name,
          async (say) =>
            (await section())({
              ...{
                ...servers,
                runs,
                seconds,
                install: !values['no-install'],
                engine,
                folder,
                env,
                figures,
                signal,
                say,
              },
              image: process.env['SECBOX_SANDBOX_IMAGE'] ?? 'secbox/sandbox:latest',
              skip: (contestant, why) => {
                progress.note(`  ${contestant} is left out: ${why}`);
                skipped.push({ contestant, why });
              },
            }),
          () => 'measured',
        );
      }
      results.push(...figures.results((execId) => warm.engineMs(execId) ?? cold.engineMs(execId)));
    });
  } finally {
    progress.close();
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true });
  }

  const verdicts = judge(results);
  const seen = { at: begun.toISOString(), runs, seconds, machine, results, verdicts, skipped };
  mkdirSync(path.dirname(out), { recursive: true });
  writeFileSync(out, `${JSON.stringify({ ...seen, failures: figures.failures }, null, 2)}\n`);
  const notes = [
    ...skipped.map(({ contestant, why }) => `${contestant} was left out: ${why}`),
    ...figures.failures.slice(0, 10).map((failure) => `FAILED ${failure}`),
    `${Math.round(progress.seconds())} s; ${out}`,
  ];
  process.stdout.write(
    `\n${describe(machine)}\n\n${[tableOf(results), '', ...verdictLines(verdicts), '', ...notes].join('\n')}\n`,
  );
  if (figures.failures.length > 0) return 1;
  return values.check && !verdicts.every(({ met }) => met) ? 1 : 0;
});

/**
 * They import compiled sources, so that they are loaded once those are there.
 *
 * @param {string} only
 * @returns {[string, () => Promise<(run: import('./bench-run.mjs').BenchRun) => Promise<void>>][]}
 */
function chosenSections(only) {
  /** @type {Record<string, () => Promise<(run: import('./bench-run.mjs').BenchRun) => Promise<void>>>} */
  const sections = {
    others: async () => (await import('./others.mjs')).benchOthers,
    gaps: async () => (await import('./gaps.mjs')).benchGaps,
    projects: async () => (await import('./projects.mjs')).benchProjects,
    sustained: async () => (await import('./sustained.mjs')).benchSustained,
  };
  const names = only.split(',');
  const unknown = names.filter((name) => !Object.hasOwn(sections, name));
  if (unknown.length > 0) {
    throw new Failure(
      `--only takes ${Object.keys(sections).join(', ')} or several with commas, not ${unknown.join(', ')}.`,
    );
  }
  return Object.entries(sections).filter(([name]) => names.includes(name));
}

/**
 * One server as it is by default, but for as many at once as are sent, and one that starts no container ahead.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} folder
 * @param {(servers: { warm: import('./api.mjs').Api, cold: import('./api.mjs').Api }) => Promise<void>} use
 */
async function withServers(env, folder, use) {
  const open = (/** @type {string} */ name, /** @type {NodeJS.ProcessEnv} */ more) =>
    openApi({ ...env, SECBOX_MAX_CONCURRENT_EXECS: '8', ...more, SECBOX_DATA_DIR: path.join(folder, name) });
  const warm = await open('warm', {});
  try {
    const cold = await open('cold', { SECBOX_POOL_SIZE: '0' });
    try {
      await warm.poolFull();
      await use({ warm, cold });
    } finally {
      await cold.stop();
    }
  } finally {
    await warm.stop();
  }
}

/** @param {import('../../docker/setup/engine-api.mjs').EngineApi} engine */
async function describeMachine(engine) {
  const version = /** @type {{ Version: string }} */ (await engine.call('GET', '/version'));
  return {
    cores: os.cpus().length,
    memory_gb: Math.round(os.totalmem() / 1e9),
    kernel: os.release(),
    node: process.version,
    engine: version.Version,
    load_before: Math.round((os.loadavg()[0] ?? 0) * 10) / 10,
  };
}

/** @param {Awaited<ReturnType<typeof describeMachine>>} machine */
function describe({ cores, memory_gb: memory, kernel, node, engine, load_before: load }) {
  return `${cores} cores, ${memory} GB, Linux ${kernel}, Node ${node}, Docker ${engine}; load before ${load}`;
}
