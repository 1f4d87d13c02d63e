import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { Failure, runCommand } from '../docker/setup/failure.mjs';
import { prepareAll } from '../docker/setup/prepare.mjs';
import { createProgress } from '../docker/setup/progress.mjs';
import { engineEnvironment, mountsEnvironment } from '../docker/setup/serve.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { judgeInvoke, moreThanExec } from './invoke-targets.mjs';
import { tableOf } from './summary.mjs';
import { tell } from './verdicts.mjs';

const HELP = `Usage: npm run bench:invoke -- [--only registry|invoke] [--skills 1000] [--runs 100] [--json FILE]

registry  how long a folder of skills takes to load, and one that changed to be there
          anew: by a call that names it, and from the write to the swap
invoke    a warm invocation of json.query against the same exec: the same program, the
          same files, the same limits, alternating; in a project, and in one of its own;
          and what of each is beside the time of the program itself

Ends with what was promised of each; exit code 1 when one is missed.
`;

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      skills: { type: 'string', default: '1000' },
      runs: { type: 'string', default: '100' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { env } = process;
  const runs = Number(values.runs);
  const parts = values.only === undefined ? ['registry', 'invoke'] : [values.only];
  if (parts.some((part) => !['registry', 'invoke'].includes(part))) {
    throw new Failure('--only takes registry or invoke.', { exitCode: 2 });
  }
  await compileService({ root: repositoryRoot, env, signal, say: () => undefined });
  /** @type {Record<string, import('./summary.mjs').Summary[]>} */
  const figures = {};
  if (parts.includes('registry')) {
    const { benchRegistry } = await import('./skill-registry.mjs');
    const summaries = await benchRegistry({ skills: Number(values.skills), runs });
    process.stdout.write(`${tableOf(summaries)}\n`);
    figures['registry'] = summaries;
  }
  if (parts.includes('invoke')) {
    const progress = createProgress({ stream: process.stderr, env });
    const { endpoint, mountsProgram } = await prepareAll({ env, signal, progress });
    progress.close();
    const { benchInvoke } = await import('./skill-invoke.mjs');
    const engine = { ...engineEnvironment(endpoint), ...mountsEnvironment(mountsProgram) };
    const summaries = await benchInvoke({ env: { ...env, ...engine }, runs });
    process.stdout.write(`${tableOf(summaries)}\n`);
    for (const name of ['invoke: beside', 'invoke, alone: beside'])
      process.stdout.write(`${name}: ${moreThanExec(name, summaries)} ms more than the same exec (p50)\n`);
    figures['invoke'] = summaries;
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
  return tell(judgeInvoke(Object.values(figures).flat()));
});
