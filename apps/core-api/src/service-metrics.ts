import type { ApprovalRecords } from '@secbox/approvals';
import type { ContainerEngine } from '@secbox/container-engine';
import type { ExecId, ExecStart, StartMode } from '@secbox/contracts';
import type { Database } from '@secbox/database';
import type { Account, ExecRecords, ExecRunner, Strays, WarmReport } from '@secbox/exec-runner';
import { timedCalls, type Counter, type Metrics } from '@secbox/metrics';

const databaseBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5];
const engineBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30];
const execBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const queueBuckets = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

type Stores = Pick<
  Database,
  | 'execs'
  | 'audit'
  | 'retention'
  | 'settings'
  | 'keys'
  | 'events'
  | 'approvals'
  | 'deliveries'
  | 'skillRegistry'
>;

/** The same stores, timed. */
export function measuredStores(stores: Stores, metrics: Metrics): Stores {
  const labels = ['store', 'call'];
  const seconds = metrics.histogram({
    name: 'secbox_database_seconds',
    help: 'How long calls of the database took, the wait for a free thread included.',
    labels,
    buckets: databaseBuckets,
  });
  const failures = metrics.counter({
    name: 'secbox_database_errors_total',
    help: 'Calls of the database that failed.',
    labels,
  });
  const timed = <Name extends keyof Stores>(store: Name): Stores[Name] =>
    timedCalls(stores[store], { seconds, failures, labels: { store } });
  return {
    execs: timed('execs'),
    audit: timed('audit'),
    retention: timed('retention'),
    settings: timed('settings'),
    keys: timed('keys'),
    events: timed('events'),
    skillRegistry: timed('skillRegistry'),
    approvals: timed('approvals'),
    deliveries: timed('deliveries'),
  };
}

/** The same engine, timed. */
export function measuredEngine(engine: ContainerEngine, metrics: Metrics): ContainerEngine {
  const labels = ['call'];
  return timedCalls(engine, {
    seconds: metrics.histogram({
      name: 'secbox_engine_seconds',
      help: 'How long calls of the container engine took; some wait for a container to end.',
      labels,
      buckets: engineBuckets,
    }),
    failures: metrics.counter({
      name: 'secbox_engine_errors_total',
      help: 'Calls of the container engine that failed.',
      labels,
    }),
  });
}

interface CountedStores {
  readonly execs: ExecRecords;
  readonly approvals: ApprovalRecords;
}

/** The same records, with every end counted as it is written: by a run, or by who said no, or nothing in time. */
export function countedStores({ execs, approvals }: CountedStores, metrics: Metrics): CountedStores {
  const ended = metrics.counter({
    name: 'secbox_execs_total',
    help: 'Execs that are over, by status and start mode; start mode none: they never started.',
    labels: ['status', 'start_mode'],
  });
  return { execs: countedExecs(execs, metrics, ended), approvals: countedApprovals(approvals, ended) };
}

function countedApprovals(records: ApprovalRecords, ended: Counter): ApprovalRecords {
  return {
    insert: (...given) => records.insert(...given),
    find: (tenant, execId) => records.find(tenant, execId),
    list: (tenant, page) => records.list(tenant, page),
    pending: () => records.pending(),
    givenInVain: () => records.givenInVain(),
    makeVoid: (execId, event, delivery) => records.makeVoid(execId, event, delivery),
    settle: async (execId, settlement, next, event, delivery) => {
      const won = await records.settle(execId, settlement, next, event, delivery);
      if (won && next !== 'queued') ended.add({ status: next.status, start_mode: 'none' });
      return won;
    },
  };
}

function countedExecs(records: ExecRecords, metrics: Metrics, ended: Counter): ExecRecords {
  const duration = metrics.histogram({
    name: 'secbox_exec_duration_seconds',
    help: 'How long execs ran.',
    labels: ['start_mode'],
    buckets: execBuckets,
  });
  const queue = metrics.histogram({
    name: 'secbox_exec_queue_seconds',
    help: 'How long execs waited for their turn.',
    buckets: queueBuckets,
  });
  const modes = new Map<ExecId, StartMode>();
  const countStart = (execId: ExecId, start: ExecStart) => {
    modes.set(execId, start.start_mode);
    queue.observe(start.queue_ms / 1000);
  };
  /** Of one that an earlier server started, or that never did. */
  const earlierMode = async (execId: ExecId) => {
    const record = await records.find(execId).catch(() => undefined);
    return record?.start_mode ?? 'none';
  };
  return {
    insert: (submission, contents) => records.insert(submission, contents),
    find: (execId) => records.find(execId),
    findByIdempotencyKey: (tenant, key) => records.findByIdempotencyKey(tenant, key),
    unfinished: () => records.unfinished(),
    insertRunning: async (submission, start) => {
      await records.insertRunning(submission, start);
      countStart(submission.exec_id, start);
    },
    markRunning: async (execId, start) => {
      await records.markRunning(execId, start);
      countStart(execId, start);
    },
    finish: async (execId, end) => {
      await records.finish(execId, end);
      const mode = modes.get(execId) ?? (await earlierMode(execId));
      modes.delete(execId);
      ended.add({ status: end.status, start_mode: mode });
      if (end.duration_ms !== null) duration.observe(end.duration_ms / 1000, { start_mode: mode });
    },
  };
}

export interface GaugedParts {
  readonly runner: Pick<ExecRunner, 'load'>;
  readonly strays: () => Strays;
  readonly account: () => Account;
  readonly warm: () => WarmReport;
}

/** What is so at this moment. */
export function gaugeService({ runner, strays, account, warm }: GaugedParts, metrics: Metrics): void {
  gaugePool(warm, metrics);
  metrics.gauge(
    { name: 'secbox_execs_queued', help: 'Execs that wait for their turn.' },
    () => runner.load.queued,
  );
  metrics.gauge({ name: 'secbox_execs_running', help: 'Execs that run.' }, () => runner.load.running);
  const kinds = ['containers', 'rows', 'spools', 'mounts'] as const;
  metrics.gauge(
    {
      name: 'secbox_strays',
      help: 'What belonged to no exec and was cleared away, since the start.',
      labels: ['kind'],
    },
    () => kinds.map((kind) => ({ labels: { kind }, value: strays()[kind] })),
  );
  metrics.gauge(
    {
      name: 'secbox_unaccounted_containers',
      help: 'Containers that were started and no row accounts for: an alarm.',
    },
    () => account().unaccounted_total,
  );
  metrics.gauge(
    { name: 'secbox_account_listening', help: 'Whether the engine tells us what it starts: 1 or 0.' },
    () => (account().listening ? 1 : 0),
  );
}

function gaugePool(warm: () => WarmReport, metrics: Metrics): void {
  const figure = (name: 'waiting' | 'starting' | 'taken_total' | 'missed_total') => () => {
    const report = warm();
    return report.warm ? report[name] : 0;
  };
  metrics.gauge({ name: 'secbox_pool_on', help: 'Whether containers are started ahead: 1 or 0.' }, () =>
    warm().warm ? 1 : 0,
  );
  metrics.gauge(
    { name: 'secbox_pool_waiting', help: 'Containers that wait, started, for an exec.' },
    figure('waiting'),
  );
  metrics.gauge(
    { name: 'secbox_pool_starting', help: 'Containers on their way into the pool.' },
    figure('starting'),
  );
  metrics.gauge(
    { name: 'secbox_pool_taken', help: 'Execs that got a container of the pool, since the start.' },
    figure('taken_total'),
  );
  metrics.gauge(
    { name: 'secbox_pool_missed', help: 'Execs that found none in the pool, since the start.' },
    figure('missed_total'),
  );
}
