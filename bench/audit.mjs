import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { compileService } from '../docker/setup/compile.mjs';
import { runCommand } from '../docker/setup/failure.mjs';
import { repositoryRoot } from '../docker/setup/settings.mjs';
import { connect, fill } from './audit-fill.mjs';
import * as rows from './audit-rows.mjs';
import { judgeAudit } from './audit-targets.mjs';
import { ratio, summarize, tableOf } from './summary.mjs';
import { tell } from './verdicts.mjs';

/** @typedef {import('../packages/database/dist/index.js').Database} Database */
/** @typedef {import('../packages/contracts/dist/index.js').ExecFilter} ExecFilter */
/** @typedef {import('../packages/contracts/dist/index.js').ExecScope} ExecScope */

const HELP = `Usage: npm run bench:audit -- [--rows N] [--runs N] [--dir FOLDER] [--json FILE]

What asking costs at 10,000 and at N rows (1,000,000), alternating; an export of
all of them; a report; and what an exec's rows cost to write; judged by what was
promised: a miss ends with 1. Needs no engine.
FOLDER is where the databases are made; they are removed in the end.
`;

const FEW = 10_000;
const WRITES = 200;

/** @type {Record<string, (n: number, count: number) => ExecFilter>} */
const FILTERS = {
  'no filter': () => ({}),
  task_id: (n) => ({ task_id: rows.taskOf(n) }),
  conversation_id: (n) => ({ conversation_id: rows.conversationOf(n) }),
  project_id: (n) => ({ project_id: rows.projectOf(n) }),
  skill_id: () => ({ skill_id: 'csv.summary' }),
  status: () => ({ status: 'failed' }),
  'status running': () => ({ status: 'running' }),
  actor: (n) => ({ actor: rows.actorOf(n) }),
  since: (n, count) => ({ since: rows.createdAt(n, count).toISOString() }),
  until: (n, count) => ({ until: rows.createdAt(n, count).toISOString() }),
  'common word': () => ({ q: rows.COMMON_WORD }),
  'rare word': () => ({ q: rows.RARE_WORD }),
  'no such word': () => ({ q: 'nosuchword' }),
  'common word, rare status': () => ({ q: rows.COMMON_WORD, status: 'oom_killed' }),
  'common word, status running': () => ({ q: rows.COMMON_WORD, status: 'running' }),
  'actor, status': (n) => ({ actor: rows.actorOf(n), status: 'failed' }),
};

/** @param {string} user @returns {ExecScope} */
const limitedTo = (user) => ({
  tenant: 'default',
  actor: 'a key',
  userPatterns: [user],
  agentPatterns: null,
});

/** Who does not see all of the tenant `default`. @type {Record<string, [ExecScope, ExecFilter]>} */
const OTHERS = {
  'another tenant': [rows.OTHER_TENANT, {}],
  'common word, another tenant': [rows.OTHER_TENANT, { q: rows.COMMON_WORD }],
  'a key for a team': [limitedTo('team-4-*'), {}],
  'status, a key for a team': [limitedTo('team-4-*'), { status: 'failed' }],
};

/** @type {[string, ExecScope, (n: number, count: number) => ExecFilter][]} */
const LISTS = [
  ...Object.entries(FILTERS).map(
    ([name, filter]) => /** @type {[string, ExecScope, typeof filter]} */ ([name, 'default', filter]),
  ),
  ...Object.entries(OTHERS).map(
    ([name, [scope, filter]]) =>
      /** @type {[string, ExecScope, () => ExecFilter]} */ ([name, scope, () => filter]),
  ),
];

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '1000000' },
      runs: { type: 'string', default: '200' },
      dir: { type: 'string', default: os.tmpdir() },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  await compileService({ root: repositoryRoot, env: process.env, signal, say: () => undefined });
  const { openDatabase } = await import('../packages/database/dist/index.js');
  const folder = mkdtempSync(path.join(values.dir, 'secbox-audit-'));
  const many = Number(values.rows);
  /** @type {Database[]} */
  const opened = [];
  try {
    const sizes = /** @type {Record<number, Database>} */ ({});
    for (const count of [FEW, many]) {
      const file = path.join(folder, `${count}.db`);
      await (await openDatabase(file)).close();
      say(`filling ${count} rows`);
      fill(file, count);
      opened.push((sizes[count] = await openDatabase(file)));
    }
    const [few, large] = [sizes[FEW], sizes[many]];
    if (!few || !large) throw new Error('Nothing was opened.');
    const file = path.join(folder, `${many}.db`);
    const figures = {
      rows: many,
      bytes_per_row: Math.round(statSync(file).size / many),
      lists: await measureLists(few, large, many, Number(values.runs)),
      exports: [await measureExport(large, 'jsonl'), await measureExport(large, 'csv')],
      report: await measureReport(large),
      writes: await measureWrites(large, folder),
    };
    say(`size on disk: ${figures.bytes_per_row} bytes a row, with its indexes and the lists of its files`);
    const verdicts = judgeAudit(figures);
    if (values.json !== undefined) {
      writeFileSync(values.json, `${JSON.stringify({ ...figures, verdicts }, null, 2)}\n`);
    }
    return tell(verdicts);
  } finally {
    for (const database of opened) await database.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`);
}

/**
 * @param {Database} few
 * @param {Database} large
 * @param {number} many
 * @param {number} runs
 */
async function measureLists(few, large, many, runs) {
  const results = [];
  for (const [name, scope, filter] of LISTS) {
    /** @type {{ few: number[], many: number[] }} */
    const times = { few: [], many: [] };
    for (let run = -5; run < runs; run += 1) {
      const share = Math.abs((run * 0.618) % 1);
      const order = run % 2 === 0 ? /** @type {const} */ ('desc') : /** @type {const} */ ('asc');
      for (const [database, count, list] of /** @type {const} */ ([
        [few, FEW, times.few],
        [large, many, times.many],
      ])) {
        const asked = filter(Math.floor(share * count), count);
        const start = performance.now();
        await database.audit.list(scope, asked, { order, limit: 50 });
        if (run >= 0) list.push(performance.now() - start);
      }
    }
    const [atFew, atMany] = [
      summarize(`${name}, ${FEW}`, times.few),
      summarize(`${name}, ${many}`, times.many),
    ];
    const grown = ratio(atMany.p95, atFew.p95);
    say(`${tableOf([atFew, atMany]).split('\n').slice(-2).join('\n')} p95 ratio ${grown}`);
    results.push({ name, few: atFew, many: atMany, ratio_p95: grown });
  }
  return results;
}

/**
 * @param {Database} database
 * @param {'jsonl' | 'csv'} format
 */
async function measureExport(database, format) {
  const count = (await database.audit.stats('default', {})).total.execs;
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const before = process.memoryUsage.rss();
  const cpu = process.cpuUsage();
  const start = performance.now();
  const seen = { bytes: 0, rss: before };
  for await (const part of database.audit.export('default', {}, { order: 'desc', format })) {
    seen.bytes += part.length;
    seen.rss = Math.max(seen.rss, process.memoryUsage.rss());
  }
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  delay.disable();
  const result = {
    format,
    rows_per_second: Math.round(count / seconds),
    rows_per_cpu_second: Math.round(count / ((user + system) / 1e6)),
    bytes: seen.bytes,
    grown_mb: Math.round((seen.rss - before) / 1024 ** 2),
    longest_block_ms: Math.round(delay.max / 1e6),
  };
  say(
    `export ${format}: ${result.rows_per_second} rows/s (${result.rows_per_cpu_second} a second of cpu), memory +${result.grown_mb} MB, longest block of the loop ${result.longest_block_ms} ms`,
  );
  return result;
}

/** @param {Database} database */
async function measureReport(database) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const start = performance.now();
  await database.audit.stats('default', {});
  const ms = Math.round(performance.now() - start);
  delay.disable();
  say(`report over all: ${ms} ms, longest block of the loop ${Math.round(delay.max / 1e6)} ms`);
  return { ms, longest_block_ms: Math.round(delay.max / 1e6) };
}

/**
 * The transactions of an exec, two when it starts at once and three when it has to wait, and beside them two that write
 * one number each: what the disk alone takes.
 *
 * @param {Database} database
 * @param {string} folder
 */
async function measureWrites(database, folder) {
  const submissionOf = await submissions();
  const bare = connect(path.join(folder, 'bare.db'));
  bare.pragma('journal_mode = WAL');
  bare.pragma('synchronous = FULL');
  bare.exec('CREATE TABLE t (n)');
  const commit = bare.prepare('INSERT INTO t VALUES (1)');
  const file = {
    path: 'a.txt',
    kind: 'file',
    size: 1,
    sha256: 'a'.repeat(64),
    media_type: 'text/plain',
    dropped: null,
  };
  /** @type {{ exec: number[], waiting: number[], disk: number[] }} */
  const times = { exec: [], waiting: [], disk: [] };
  for (let run = -40; run < 2 * WRITES; run += 1) {
    const waits = run % 2 !== 0;
    const submission = submissionOf(run);
    const { exec_id: execId, created_at: now } = submission;
    const started = { started_at: now, queue_ms: 1, start_mode: /** @type {const} */ ('warm') };
    const start = performance.now();
    if (waits) {
      await database.execs.insert(submission);
      await database.execs.markRunning(execId, started);
    } else {
      await database.execs.insertRunning(submission, started);
    }
    await database.execs.finish(execId, {
      status: 'succeeded',
      exit_code: 0,
      signal: null,
      oom: false,
      error_reason: null,
      ended_at: now,
      duration_ms: 12,
      stdout_truncated: false,
      stderr_truncated: false,
      artifacts_truncated: false,
      cpu_ms: 3,
      peak_memory_bytes: 8_000_000,
      output_error: null,
      effects: null,
      evidence: {
        inputs: [{ path: 'main.py', size: 3, sha256: 'b'.repeat(64) }],
        artifacts: [{ ...file, kind: 'stdout' }, { ...file, kind: 'stderr' }, file].map((each) => ({
          ...each,
          kind: /** @type {'file'} */ (each.kind),
        })),
      },
    });
    const middle = performance.now();
    for (let n = 0; n < 2; n += 1) commit.run();
    if (run < 0) continue;
    times[waits ? 'waiting' : 'exec'].push(middle - start);
    times.disk.push(performance.now() - middle);
  }
  bare.close();
  const indexed = await measureIndexing(database, (n) => database.execs.insert(submissionOf(n)));
  const exec = summarize('rows of an exec', times.exec);
  const waiting = summarize('rows of an exec that waits', times.waiting);
  const disk = summarize('2 bare commits', times.disk);
  say(tableOf([exec, waiting, disk]));
  say(`each command is indexed behind its exec in ${indexed} ms`);
  return { exec, waiting, disk, indexed_ms: indexed };
}

/**
 * A search brings the index of commands up to date first: what that takes for each of many.
 *
 * @param {Database} database
 * @param {(n: number) => Promise<void>} insert
 */
async function measureIndexing(database, insert) {
  const ask = () => database.audit.list('default', { q: 'nosuchword' }, { order: 'desc', limit: 1 });
  const execs = 100;
  let took = 0;
  for (let n = 0; n < execs; n += 10) {
    await ask();
    for (let each = 0; each < 10; each += 1) await insert(n + each);
    const start = performance.now();
    await ask();
    took += performance.now() - start;
  }
  return Math.round((took / execs) * 100) / 100;
}

/** Makes submissions with commands of ordinary length. */
async function submissions() {
  const { newExecId, parseProjectId } = await import('../packages/contracts/dist/index.js');
  const template = rows.rowOf(1, 10);
  return (/** @type {number} */ run) => ({
    exec_id: newExecId(),
    tenant: 'default',
    actor: template.actor,
    project_id: parseProjectId(template.project_id),
    task_id: template.task_id,
    conversation_id: template.conversation_id,
    skill_id: template.skill_id,
    skill_digest: null,
    user_id: null,
    agent_id: null,
    kind: /** @type {const} */ ('python'),
    sandbox_type: /** @type {const} */ ('docker'),
    image: template.image,
    image_digest: template.image_digest,
    cmd: template.cmd,
    args: ['-c', readSnippet(run)],
    cwd: template.cwd,
    env_keys: [],
    policy_snapshot: rows.SNAPSHOT,
    artifacts_path: template.artifacts_path,
    idempotency_key: null,
    request_hash: template.request_hash,
    plan_hash: template.plan_hash,
    created_at: new Date().toISOString(),
  });
}

/** A script of ordinary length: this file's own lines. @param {number} n */
function readSnippet(n) {
  const text = readFileSync(new URL(import.meta.url), 'utf8');
  const at = Math.abs(n * 37) % (text.length - 400);
  return text.slice(at, at + 400);
}
