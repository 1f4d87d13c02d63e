/** Rows as years of use would leave them: deterministic, so that two runs measure the same. */

const PROJECTS = 200;
const SKILLS = ['shell.run', 'python.run', 'csv.summary', 'pdf.text', 'image.resize', null, null];
const ACTORS = 40;
const STATUSES = [
  ...Array.from({ length: 90 }, () => 'succeeded'),
  ...Array.from({ length: 6 }, () => 'failed'),
  ...['timed_out', 'oom_killed', 'cancelled', 'error'],
];
const WORDS =
  'import pandas numpy json print open read write rows total price customer invoice report sum group filter sort merge plot chart data frame index column value test build deploy check status'.split(
    ' ',
  );
export const COMMON_WORD = 'print';
export const RARE_WORD = 'zanzibar';
/** Every so many rows one has the rare word, at any number of rows. */
const RARE_TIMES = 7;
/** So many are not over. */
const RUNNING = 4;
/** One of so many is of another tenant, in which every word is as common. */
const OTHER_TENANT_EVERY = 20;
export const OTHER_TENANT = 'acme';
const TEAMS = 10;

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2024, 0, 1);
const SPAN_MS = 365 * DAY_MS;

const limits = { timeout_ms: 60_000, max_stdout_bytes: 1_048_576, max_stderr_bytes: 1_048_576 };
const more = { max_artifacts_bytes_total: 52_428_800, memory_mb: 1024, cpu_cores: 1, pids: 256 };
/**
 * @template Value
 * @param {Value} value
 */
function each(value) {
  return {
    timeout_ms: value,
    max_stdout_bytes: value,
    max_stderr_bytes: value,
    max_artifacts_bytes_total: value,
    memory_mb: value,
    cpu_cores: value,
    pids: value,
  };
}

/** @type {import('../packages/contracts/dist/index.js').PolicySnapshot} */
export const SNAPSHOT = {
  values: { net: { mode: 'none' }, ...limits, ...more, read_only_root: true },
  ceilings: {
    ...each({ value: 300_000, layer: 'hard' }),
    read_only_root: { value: false, layer: 'settings' },
  },
  sources: { ...each('system'), 'net.mode': 'system', read_only_root: 'system' },
  runtime: { value: 'runc', layer: 'engine' },
  settings_version: 3,
};

/** @param {number} n */
function random(n) {
  // A hash of the number, from 0 to 1: any row can be made without those before it.
  let x = (n + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * @template T
 * @param {readonly T[]} list
 * @param {number} n
 * @returns {T}
 */
function pick(list, n) {
  return /** @type {T} */ (list[Math.floor(random(n) * list.length)]);
}

/** @param {number} n */
function hex(n) {
  return Math.floor(random(n) * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

/** @param {number} n @param {number} rows */
export function createdAt(n, rows) {
  return new Date(START_MS + Math.floor((SPAN_MS / rows) * n));
}

/** @param {number} n */
export function execIdOf(n) {
  return `${hex(n)}-${hex(n + 1).slice(0, 4)}-4${hex(n + 2).slice(0, 3)}-a${hex(n + 3).slice(0, 3)}-${n.toString(16).padStart(12, '0')}`;
}

/** @param {number} n */
export const projectOf = (n) => `project-${Math.floor(random(n * 7) * PROJECTS)}`;
/** @param {number} n */
export const taskOf = (n) => `task-${hex(Math.floor(n / 5))}`;
/** @param {number} n */
export const conversationOf = (n) => `conversation-${hex(Math.floor(n / 20) + 3)}`;
/** @param {number} n */
export const actorOf = (n) => `worker-${Math.floor(random(n * 13) * ACTORS)}`;

/**
 * @param {number} n
 * @param {number} rows how many there will be
 */
export function rowOf(n, rows) {
  const made = createdAt(n, rows);
  const duration = Math.floor(20 + 2000 * random(n * 17) ** 4);
  const running = n % Math.floor(rows / RUNNING) === 2;
  const status = running ? 'running' : pick(STATUSES, n * 19);
  const user = n % 2 === 0 ? `team-${n % TEAMS}-${hex(n).slice(0, 3)}` : null;
  const words = Array.from({ length: 8 }, (_, w) => pick(WORDS, n * 23 + w));
  if (n % Math.floor(rows / RARE_TIMES) === 1) words.push(RARE_WORD);
  const execId = execIdOf(n);
  const project = projectOf(n);
  return {
    seq: made.getTime() * 1000,
    exec_id: execId,
    tenant: n % OTHER_TENANT_EVERY === 7 ? OTHER_TENANT : 'default',
    actor: actorOf(n),
    project_id: project,
    task_id: taskOf(n),
    conversation_id: conversationOf(n),
    skill_id: pick(SKILLS, n * 29),
    kind: 'python',
    sandbox_type: 'docker',
    image: 'secbox/sandbox:latest',
    image_digest: `sha256:${'ab'.repeat(32)}`,
    cmd: 'python',
    args: JSON.stringify(['-c', words.join(' ')]),
    cwd: '/workspace/work',
    env_keys: '["LANG","TOKEN"]',
    policy_snapshot: JSON.stringify(SNAPSHOT),
    artifacts_path: `/srv/secbox/workspace/projects/${project}/artifacts/${execId}`,
    idempotency_key: null,
    request_hash: hex(n).repeat(8),
    plan_hash: hex(n + 5).repeat(8),
    status,
    exit_code: running ? null : status === 'succeeded' ? 0 : 1,
    signal: null,
    oom: 0,
    error_reason: null,
    created_at: made.toISOString(),
    started_at: new Date(made.getTime() + 5).toISOString(),
    queue_ms: 5,
    start_mode: 'cold',
    ended_at: running ? null : new Date(made.getTime() + 5 + duration).toISOString(),
    duration_ms: running ? null : duration,
    stdout_truncated: 0,
    stderr_truncated: 0,
    artifacts_truncated: 0,
    cpu_ms: Math.floor(duration / 3),
    peak_memory_bytes: 8_000_000,
    user_id: user,
    agent_id: user === null ? null : 'agent',
    command: `python -c ${words.join(' ')}`,
  };
}
