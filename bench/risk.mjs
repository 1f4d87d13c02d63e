import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { runCommand } from '../docker/setup/failure.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { judgeRisk } from './risk-targets.mjs';
import { summarize, tableOf } from './summary.mjs';
import { tell } from './verdicts.mjs';

/** @typedef {import('../packages/risk/dist/index.js').AssessedLanguage} Language */
/** @typedef {import('../packages/risk/dist/index.js').RiskAssessor} Assessor */

const HELP = `Usage: npm run bench:risk -- [--runs N] [--json FILE]

What assessing 10 kB of programs costs per language, thread and queue included,
beside what parsing it alone costs in a thread that is busy with nothing else,
and what 10 kB of dense snippets do; and when a
hostile megabyte is answered, with how long the event loop stood still, by a
short deadline and by that of the service. Exits with 1 when 10 kB take longer
than 5 ms (p95), when a hostile megabyte is answered later than its deadline and
100 ms, or when the event loop stands still beside it for longer than 50 ms.
Needs no engine.
`;

const WARM_UP = 60;
const SIZE = 10_000;
/** A short one, and that of the service. */
const DEADLINES_MS = [500, 5000];
/** @type {readonly Language[]} */
const LANGUAGES = ['python', 'bash', 'javascript'];

/** @type {Record<Language, { folders: readonly string[], ending: string }>} */
const PROGRAMS = {
  python: { folders: ['skills'], ending: '.py' },
  bash: { folders: ['docker', 'skills', 'packages/exec-runner/launcher'], ending: '.sh' },
  javascript: { folders: ['docker/setup'], ending: '.mjs' },
};

/** @type {Record<string, { language: Language, code: string }>} */
const HOSTILE = {
  'open parentheses': { language: 'python', code: '('.repeat(1_000_000) },
  'one long sum': { language: 'javascript', code: `x=${'a+'.repeat(500_000)}a` },
  'ambiguous words': { language: 'javascript', code: 'a<b>(c)=>{`${'.repeat(76_000) },
  'open expansions': { language: 'bash', code: '${'.repeat(500_000) },
  'short lines': { language: 'bash', code: 'x=$(echo "$x" | tr a b)\n'.repeat(43_000) },
  'names that name names': {
    language: 'python',
    code: Array.from({ length: 40_000 }, (_, n) => `a${n} = a${n + 1} + a${n + 2}\n`).join(''),
  },
};

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '200' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const say = () => undefined;
  await compileService({ root: repositoryRoot, env: process.env, signal, say, projects: ['packages/risk'] });
  const { openRiskAssessor } = await import('../packages/risk/dist/index.js');
  const { createLogger } = await import('../packages/logging/dist/index.js');
  const logger = createLogger({ level: 'error', format: 'json', destination: new PassThrough() });
  const load = os.loadavg()[0] ?? 0;

  const assessor = openRiskAssessor({ logger, deadlineMs: 60_000 });
  const costs = await measureCosts(assessor, Number(values.runs));
  await assessor.close();
  const hostile = [];
  for (const deadlineMs of DEADLINES_MS) {
    const strict = openRiskAssessor({ logger, deadlineMs });
    for (const measured of await measureHostile(strict)) hostile.push({ ...measured, deadlineMs });
    await strict.close();
  }

  process.stdout.write(`${tableOf(costs)}\n\n`);
  for (const { name, fastest, cpu } of costs) {
    process.stdout.write(
      `${name}: fastest ${fastest.toFixed(1)} ms; of cpu, all threads, p50 ${cpu.p50.toFixed(1)} ms, least ${cpu.least.toFixed(1)} ms\n`,
    );
  }
  process.stdout.write('\n');
  process.stdout.write(
    '| a hostile megabyte | deadline ms | answered ms | level | rule | loop stood still ms |\n',
  );
  process.stdout.write('| --- | --- | --- | --- | --- | --- |\n');
  for (const { name, deadlineMs, ms, level, rule, loopMs } of hostile) {
    process.stdout.write(`| ${name} | ${deadlineMs} | ${ms} | ${level} | ${rule} | ${loopMs} |\n`);
  }
  const longest = Math.max(...hostile.map(({ loopMs }) => loopMs));
  process.stdout.write(`\nthe event loop stood still for ${longest} ms at most beside hostile code\n`);
  process.stdout.write(`load average before: ${load.toFixed(1)} on ${os.cpus().length} cores\n\n`);
  if (values.json !== undefined)
    writeFileSync(values.json, JSON.stringify({ costs, hostile, load }, null, 2));
  return tell(judgeRisk(costs, hostile));
});

/**
 * @param {Assessor} assessor
 * @param {number} runs
 */
async function measureCosts(assessor, runs) {
  const { loadParses } = await import('../packages/risk/dist/syntax/parse.js');
  const { parse } = await loadParses();
  const programs = each(programsOf);
  const snippets = each(snippetsOf);
  /** @type {Record<string, { wall: number[], cpu: number[] }>} */
  const times = {};
  /** @param {string} name @param {boolean} counts @param {() => unknown} work */
  const measure = async (name, counts, work) => {
    const cpu = process.cpuUsage();
    const start = performance.now();
    await work();
    const wall = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    const taken = (times[name] ??= { wall: [], cpu: [] });
    if (!counts) return;
    taken.wall.push(wall);
    taken.cpu.push((user + system) / 1000);
  };
  for (let run = -WARM_UP; run < runs; run += 1) {
    for (const language of LANGUAGES) {
      const code = programs[language];
      await measure(language, run >= 0, () => assessor.assess({ language, code }));
      await measure(`${language} parse`, run >= 0, () => parse(language, code));
      await measure(`${language} dense`, run >= 0, () =>
        assessor.assess({ language, code: snippets[language] }),
      );
    }
  }
  // On a busy machine the fastest, and the time of the processors, say more about us than the slow ones do.
  return Object.entries(times).map(([name, { wall, cpu }]) => ({
    ...summarize(name, wall),
    fastest: Math.min(...wall),
    cpu: { p50: summarize(name, cpu).p50, least: Math.min(...cpu) },
  }));
}

/** @param {Assessor} assessor */
async function measureHostile(assessor) {
  const results = [];
  for (const [name, asked] of Object.entries(HOSTILE)) {
    // Until a thread that was given up has been replaced.
    await assessor.assess({ language: 'bash', code: ':' });
    await sleep(200);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    const start = performance.now();
    const { level, findings } = await assessor.assess(asked);
    const ms = Math.round(performance.now() - start);
    delay.disable();
    results.push({ name, ms, level, rule: findings[0]?.rule ?? '', loopMs: Math.round(delay.max / 1e6) });
  }
  return results;
}

/**
 * @param {(language: Language) => string} codeOf
 * @returns {Record<Language, string>}
 */
function each(codeOf) {
  return { python: codeOf('python'), bash: codeOf('bash'), javascript: codeOf('javascript') };
}

/**
 * Programs as people write them, with their comments: those of this repository.
 *
 * @param {Language} language
 */
function programsOf(language) {
  const { folders, ending } = PROGRAMS[language];
  const codes = folders.flatMap((folder) =>
    readdirSync(path.join(repositoryRoot, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .sort()
      .map((name) => readFileSync(path.join(repositoryRoot, folder, name), 'utf8')),
  );
  const all = codes.join('\n');
  const whole = all.repeat(Math.ceil(SIZE / all.length)).slice(0, SIZE);
  return whole.slice(0, whole.lastIndexOf('\n') + 1);
}

/**
 * Snippets of the corpus that do no harm, as many as there is room for: hardly a comment or a line that is not code.
 *
 * @param {Language} language
 */
function snippetsOf(language) {
  const file = path.join(repositoryRoot, 'packages/risk/corpus', `${language}.txt`);
  const blocks = readFileSync(file, 'utf8').split(/^=== /m);
  const codes = blocks
    .filter((block) => /^\S+ \| (SAFE|LOW) /.test(block))
    .map((block) => block.slice(block.indexOf('\n') + 1));
  let code = '';
  for (let at = 0; code.length + (codes[at % codes.length]?.length ?? 0) <= SIZE; at += 1)
    code += codes[at % codes.length] ?? '';
  return code;
}
