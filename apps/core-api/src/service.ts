import { mkdir, readFile, realpath } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AuditLog } from '@secbox/audit';
import type { Settings } from '@secbox/contracts';
import {
  CliEngine,
  defaultDockerHost,
  DockerodeEngine,
  parseDockerHost,
  type ContainerEngine,
} from '@secbox/container-engine';
import { lockInstance, openDatabase } from '@secbox/database';
import {
  DiskLimits,
  ExecRunner,
  recover,
  Vault,
  type AdmissionLimits,
  type DiskSettings,
  Reconciler,
  Sweep,
} from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import { Retention } from '@secbox/retention';
import { mergePolicy, type EngineCapacity } from '@secbox/policy';
import {
  createPathAdapter,
  sandboxOwner,
  Workspace,
  type RuntimeMode,
  type WorkspaceRoots,
} from '@secbox/workspace';
import { createApp } from './app.js';
import type { Config } from './config.js';
import { CurrentSettings } from './current-settings.js';
import { healthCheckOf } from './health.js';
import { checkRuntime } from './runtime.js';

export interface Service {
  /** Where it serves, with the port it got. */
  readonly url: string;
  /** Stops taking work, lets what runs end within the grace, ends the rest; nothing of it is left afterwards. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly searchPath: string;
  readonly runtimeMode: RuntimeMode;
  readonly version: string;
  /** What age is measured by. */
  readonly now?: () => Date;
}

/** From the sources as from the compiled files, the repository's own. */
const seccompProfilePath = new URL('../../../docker/seccomp.json', import.meta.url);

/** Wires the parts together and serves. What was opened is closed again when a later part fails. */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, logger } = options;
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  // The engine follows links in a mount's source; from here on there is none on the way.
  const dataDir = await realpath(config.dataDir);
  const closers: (() => unknown)[] = [];
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const lock = lockInstance(join(dataDir, 'server.lock'));
    closers.push(() => lock.release());
    const database = await openDatabase(join(dataDir, 'secbox.db'));
    closers.push(() => database.close());

    const dockerHost = config.dockerHost ?? defaultDockerHost;
    const engine = await openEngine(options, dockerHost);
    const { cpus, memoryBytes, defaultRuntime } = await engine.info();
    const capacity = { cpus, memory_mb: Math.floor(memoryBytes / 1024 ** 2), defaultRuntime };
    const limitsOf = (settings: Settings) => admissionLimits(config, settings, capacity);
    const openWorkspace = (roots: WorkspaceRoots) =>
      Workspace.open({
        paths: createPathAdapter({ mode: options.runtimeMode, roots }),
        ...(process.getuid?.() === 0 ? { owner: sandboxOwner } : {}),
      });
    const settings = await CurrentSettings.load({
      check: async (changed) => {
        await openWorkspace(workspaceRoots(changed, dataDir));
        await checkRuntime(changed, engine);
      },
      store: database.settings,
      capacity,
      onChange: (changed) => runner.limit(limitsOf(changed)),
    });

    const workspace = await openWorkspace(workspaceRoots(settings.get().settings, dataDir));
    const vault = await Vault.open(join(dataDir, 'secret.key'));
    const parts = { engine, workspace, records: database.execs, vault, logger, dataDir };
    const reconciler = new Reconciler(parts);
    reconciler.begin();
    closers.push(() => reconciler.close());
    const { resumable, found } = await recover(parts);
    const disk = new DiskLimits({
      ...parts,
      imageReference: config.sandboxImage,
      settings: () => diskSettings(settings.get().settings),
    });
    await disk.begin();
    closers.push(() => disk.close());

    const runner = new ExecRunner({
      ...parts,
      imageReference: config.sandboxImage,
      disk,
      capacity,
      policySettings: () => settings.policy(),
      admission: limitsOf(settings.get().settings),
    });
    const retention = new Retention({
      workspace,
      logger,
      records: database.retention,
      whileUnused: (project, work, more) => runner.whileUnused(project, work, more),
      unmount: (folders) => disk.letGo(folders),
      settings: () => {
        const { version, settings: current } = settings.get();
        return { version, retention: current.retention ?? {} };
      },
      now: options.now ?? (() => new Date()),
    });
    closers.push(() => retention.close());
    closers.push(() => runner.close(config.shutdownGraceMs));
    await retention.resume();
    await runner.resume(resumable);
    const sweep = new Sweep({ ...parts, found, isUnderway: (execId) => runner.isUnderway(execId) });
    sweep.begin();
    closers.push(() => sweep.close());

    const checkHealth = healthCheckOf({
      ...options,
      dockerHost,
      engine,
      workspace,
      database,
      disk,
      strays: () => sweep.strays(),
      account: () => reconciler.account(),
      maxArtifactsBytes: () =>
        mergePolicy({ engine: capacity, settings: settings.policy(), overrides: {} }).values
          .max_artifacts_bytes_total,
      runtime: () => settings.get().settings.sandbox?.runtime ?? defaultRuntime,
    });
    const server = createServer(
      createApp({
        runner,
        audit: new AuditLog({
          records: database.audit,
          seals: vault,
          spoolOf: ({ exec_id: execId }) => workspace.spoolOf(execId),
          contentsOf: (tenant) => workspace.contentsOf(tenant),
        }),
        retention,
        settings,
        maxBodyBytes: config.maxBodyBytes,
        maxUploadBytes: config.maxUploadBytes,
        logger,
        checkHealth,
        version: options.version,
      }),
    );
    retention.begin();
    const url = await listen(server, config.host, config.port);
    const closed = onceClosed(server);
    closers.push(() => {
      server.closeAllConnections();
      return closed;
    });
    return {
      url,
      close: async () => {
        server.close();
        // What is left to the next server is no stray.
        await sweep.close();
        await runner.close(config.shutdownGraceMs);
        // Answers to the execs that have just ended are on their way; idle connections are not worth waiting for.
        server.closeIdleConnections();
        await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 1000).unref())]);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function onceClosed(server: Server): Promise<void> {
  return new Promise((resolve) => server.once('close', resolve));
}

function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      const { address, family, port: bound } = server.address() as AddressInfo;
      resolve(`http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`);
    });
  });
}

async function openEngine(
  { config, searchPath }: ServiceOptions,
  dockerHost: string,
): Promise<ContainerEngine> {
  if (config.engineAdapter === 'dockerode') {
    const endpoint = parseDockerHost(dockerHost, config.dockerCertPath);
    return new DockerodeEngine(endpoint, { seccompProfile: await readFile(seccompProfilePath, 'utf8') });
  }
  const tls =
    config.dockerCertPath === undefined
      ? {}
      : { DOCKER_CERT_PATH: config.dockerCertPath, DOCKER_TLS_VERIFY: '1' };
  return new CliEngine(
    { program: 'docker', environment: { PATH: searchPath, DOCKER_HOST: dockerHost, ...tls } },
    { seccompProfilePath: fileURLToPath(seccompProfilePath) },
  );
}

/** Of the engine's memory, what execs may have together; the rest is for the engine, its page cache and us. */
const memoryShare = 0.8;

function admissionLimits(config: Config, { sandbox }: Settings, capacity: EngineCapacity): AdmissionLimits {
  return {
    maxConcurrent: sandbox?.max_concurrent_execs ?? config.maxConcurrentExecs,
    maxMemoryMb: Math.floor(capacity.memory_mb * memoryShare),
    maxQueued: sandbox?.max_queued_execs ?? config.maxQueuedExecs,
  };
}

const mebibyte = 1024 ** 2;

function diskSettings({ sandbox }: Settings): DiskSettings {
  return {
    workBytes: (sandbox?.project_work_mb ?? 2048) * mebibyte,
    minFreeBytes: (sandbox?.min_free_mb ?? 1024) * mebibyte,
  };
}

function workspaceRoots({ sandbox }: Settings, dataDir: string): WorkspaceRoots {
  return {
    workspace_root_win: sandbox?.workspace_root_win,
    workspace_root_wsl: sandbox?.workspace_root_wsl,
    workspace_root: sandbox?.workspace_root ?? join(dataDir, 'workspace'),
  };
}
