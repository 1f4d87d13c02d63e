import { mkdir, realpath } from 'node:fs/promises';
import type { Server } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ApiKeys, SecurityLog } from '@secbox/access';
import { AuditLog } from '@secbox/audit';
import type { Settings } from '@secbox/contracts';
import { defaultDockerHost, offersPrestart } from '@secbox/container-engine';
import { lockInstance, openDatabase } from '@secbox/database';
import {
  DiskLimits,
  ExecRunner,
  KnownImage,
  leaveNoContainer,
  recover,
  Vault,
  WarmStarts,
  warmSpecOf,
  Reconciler,
  Sweep,
} from '@secbox/exec-runner';
import type { Logger } from '@secbox/logging';
import { PrometheusMetrics } from '@secbox/metrics';
import { Retention } from '@secbox/retention';
import { CodeRunner } from '@secbox/run-code';
import { SkillRegistry, skillImageNames, type SkillImageName } from '@secbox/skill-manifest';
import { SkillCatalogue, SkillInvoker } from '@secbox/skills';
import { mergePolicy } from '@secbox/policy';
import {
  createPathAdapter,
  sandboxOwner,
  Workspace,
  type RuntimeMode,
  type WorkspaceRoots,
  wslpathOf,
} from '@secbox/workspace';
import { createApp } from './app.js';
import { lazyAssessor } from './approvals/lazy-assessor.js';
import { approvalWarnings, checkApprovals, openApprovals } from './approvals/open-approvals.js';
import type { Config } from './config.js';
import { CurrentSettings } from './current-settings.js';
import { developmentKey, type DevelopmentKey } from './development-key.js';
import { doorOf } from './door.js';
import { healthCheckOf } from './health.js';
import { isLoopback } from './host-guard.js';
import { createServer, listen, type ServerLimits } from './http-server.js';
import { admissionLimits, diskSettings, userLimitOf } from './limits-of-settings.js';
import { keyRateOf } from './key-rate.js';
import { layeredWorkOf } from './layers/layered-work.js';
import { ProjectAreas } from './files/project-areas.js';
import { UploadsAtOnce } from './files/uploads-at-once.js';
import { LayersUpkeep } from './layers/layers-upkeep.js';
import { SkillRegister } from './layers/skill-register.js';
import { TenantLayers } from './layers/tenant-layers.js';
import { Upgrades } from './upgrades.js';
import { Sessions } from './mcp/sessions.js';
import type { McpSession } from './routes/mcp.js';
import { openEngine } from './open-engine.js';
import { openSandboxes } from './open-sandboxes.js';
import { readTls } from './read-tls.js';
import { checkRuntime } from './runtime.js';
import { workspaceRoots } from './workspace-roots.js';
import { countedStores, gaugeService, measuredEngine, measuredStores } from './service-metrics.js';

export interface Service {
  /** Where it serves, with the port it got. */
  readonly url: string;
  /** Where there is one. */
  readonly developmentKey: DevelopmentKey | undefined;
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
  /** Other limits for connections than the usual ones. */
  readonly limits?: Partial<ServerLimits>;
}

const defaultSkillsDir = new URL('../../../skills/', import.meta.url);

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

    const metrics = new PrometheusMetrics();
    const stores = measuredStores(database, metrics);
    const now = () => new Date();
    const keys = new ApiKeys({ records: stores.keys, logger, now });
    const securityLog = new SecurityLog({ records: stores.events, logger, now });
    closers.push(() => securityLog.flush());
    const developersKey =
      config.auth === 'keys'
        ? await developmentKey(join(dataDir, 'dev.key'), keys, {
            make: config.developmentKey,
            keep: isLoopback(config.host),
          })
        : undefined;
    const tls = config.tls && (await readTls(config.tls));

    const dockerHost = config.dockerHost ?? defaultDockerHost;
    const engine = measuredEngine(await openEngine(options, dockerHost), metrics);
    const { cpus, memoryBytes, defaultRuntime } = await engine.info();
    const capacity = { cpus, memory_mb: Math.floor(memoryBytes / 1024 ** 2), defaultRuntime };
    const limitsOf = (settings: Settings) => admissionLimits(config, settings, capacity);
    const ownership = process.getuid?.() === 0 ? { owner: sandboxOwner } : {};
    const openWorkspace = (roots: WorkspaceRoots) =>
      Workspace.open({
        paths: createPathAdapter({
          mode: options.runtimeMode,
          roots,
          wslpath: wslpathOf(options.runtimeMode),
        }),
        ...ownership,
      });
    const settings = await CurrentSettings.load({
      check: async (changed) => {
        await openWorkspace(workspaceRoots(changed, dataDir));
        await checkRuntime(changed, engine);
        checkApprovals(changed.approvals, config.webhookSecret);
      },
      store: stores.settings,
      capacity,
      onChange: (changed) => {
        runner.limit(limitsOf(changed));
        warm.refresh();
        registry.recheck();
      },
    });

    const workspace = await openWorkspace(workspaceRoots(settings.get().settings, dataDir));
    const vault = await Vault.open(join(dataDir, 'secret.key'));
    const { execs: records, approvals: approvalRecords } = countedStores(stores, metrics);
    const parts = { engine, workspace, records, vault, logger, dataDir };
    const reconciler = new Reconciler({ ...parts, isPooled: (id) => warm.made(id) });
    reconciler.begin();
    closers.push(() => reconciler.close());
    const recovery = { ...parts, account: reconciler };
    const { found, ...recovered } = await recover(recovery);
    closers.push(() => leaveNoContainer(recovery));
    const disk = new DiskLimits({
      ...parts,
      imageReference: config.sandboxImage,
      settings: () => diskSettings(settings.get().settings),
      mountsProgram: config.mountsProgram,
    });
    const unmounted = await disk.begin();
    closers.push(() => disk.close());
    const register = new SkillRegister({ store: stores.skillRegistry, now });
    const layers = await TenantLayers.open({
      ...parts,
      ...config,
      ...(options.now ? { now: options.now } : {}),
      userLimit: () => userLimitOf(settings.get().settings),
    });
    closers.push(() => layers.close());
    const layered = layeredWorkOf(parts, layers, register, config.sandboxImage);
    closers.push(() => layered.close());

    const image = new KnownImage(engine, config.sandboxImage);
    const skillImages: Readonly<Record<SkillImageName, KnownImage>> = {
      sandbox: image,
      data: new KnownImage(engine, config.dataImage, 'npm run image -- data'),
    };
    const registry = await SkillRegistry.open({
      folder: config.skillsDir ?? fileURLToPath(defaultSkillsDir),
      images: skillImageNames,
      limits: () => ({ engine: capacity, settings: settings.policy() }),
      logger,
    });
    closers.push(() => registry.close());

    const warm = new WarmStarts({
      ...parts,
      mountsProgram: config.mountsProgram,
      imageReference: config.sandboxImage,
      findImage: () => image.find(),
      usual: (found) => ({
        ...warmSpecOf(
          mergePolicy({ engine: capacity, settings: settings.policy(), overrides: {} }),
          found,
          disk,
        ),
        ...(settings.get().settings.sandbox?.python_ahead !== false && offersPrestart(found, 'python')
          ? { prestart: 'python' }
          : {}),
      }),
      size: () => settings.get().settings.sandbox?.pool_size ?? config.poolSize,
      engineMemoryBytes: memoryBytes,
    });
    warm.begin();
    closers.push(() => warm.close());

    const assessor = lazyAssessor(logger);
    closers.push(() => assessor.close());
    const approvalSettings = () => settings.get().settings.approvals;
    const { approvals, sockets, shownInputs, resumeServices, closeServices } = openApprovals({
      ...parts,
      records: approvalRecords,
      deliveries: stores.deliveries,
      assessor,
      settings: approvalSettings,
      securityLog,
      webhookSecret: config.webhookSecret,
    });
    closers.push(closeServices);
    const { sandboxes, ...security } = await openSandboxes({
      ...parts,
      config,
      assessor,
      disk,
      mode: () => settings.get().settings.sandbox?.security_mode ?? config.securityMode,
    });
    const runner = new ExecRunner({
      ...parts,
      listed: stores.audit,
      approvals,
      sandboxes,
      image,
      skillImages,
      disk,
      layered,
      warm,
      capacity,
      policySettings: () => settings.policy(),
      admission: limitsOf(settings.get().settings),
    });
    const retention = new Retention({
      workspace,
      logger,
      records: stores.retention,
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
    await runner.resume(recovered);
    await resumeServices();
    const sweep = new Sweep({
      ...recovery,
      found: { ...found, mounts: unmounted },
      mounts: {
        unheld: () => disk.unheld(),
        unmount: (point) => disk.unmountUnheld(point),
        sweepSlots: () => warm.sweepSlots(),
      },
      isUnderway: (execId) => runner.isUnderway(execId),
      isPooled: (id) => warm.has(id),
    });
    sweep.begin();
    closers.push(() => sweep.close());

    const places = { ...parts, layers, runner, disk };
    const upkeep = new LayersUpkeep({
      ...places,
      register,
      securityLog,
      settings: () => settings.get().settings.skills ?? {},
    });
    closers.push(() => upkeep.close());

    const watched = {
      strays: () => sweep.strays(),
      account: () => reconciler.account(),
      warm: () => warm.report(),
    };
    gaugeService({ runner, ...watched }, metrics);
    const checkHealth = healthCheckOf({
      ...options,
      ...watched,
      dockerHost,
      engine,
      workspace,
      database,
      disk,
      layered,
      maxArtifactsBytes: () =>
        mergePolicy({ engine: capacity, settings: settings.policy(), overrides: {} }).values
          .max_artifacts_bytes_total,
      runtime: () => settings.get().settings.sandbox?.runtime ?? defaultRuntime,
      security: security.report,
      warnings: () => [...approvalWarnings(approvalSettings()), ...security.warnings()],
    });
    const audit = new AuditLog({
      records: stores.audit,
      seals: vault,
      spoolOf: ({ exec_id: execId }) => workspace.spoolOf(execId),
      contentsOf: (tenant) => workspace.contentsOf(tenant),
    });
    const catalogue = new SkillCatalogue(registry);
    const sessions = new Sessions<McpSession>();
    closers.push(() => sessions.close());
    const intakeLimits = { maxBytes: config.maxUploadBytes, maxSecretBytes: config.maxBodyBytes };
    const codeRunner = new CodeRunner({ runner, audit, assessor, limits: intakeLimits });
    const upgrades = new Upgrades();
    const rate = keyRateOf(() => settings.get().settings.quotas);
    const server = createServer(
      createApp({
        runner,
        audit,
        approvals,
        approvalSockets: sockets,
        shownInputs,
        rate,
        upgrades,
        codeRunner,
        catalogue,
        registry,
        sessions,
        invoker: new SkillInvoker({ catalogue, runner, audit, limits: intakeLimits }),
        retention,
        layers,
        register,
        projectAreas: new ProjectAreas({ ...options, ...places, ...ownership, changes: stores.retention }),
        assertRoom: () => disk.assertRoom(),
        uploads: new UploadsAtOnce(),
        settings,
        maxBodyBytes: config.maxBodyBytes,
        maxUploadBytes: config.maxUploadBytes,
        keys,
        securityLog,
        metrics,
        door: doorOf({ auth: config.auth, keys, log: securityLog, rate }),
        logger,
        checkHealth,
        version: options.version,
        hosts: config,
        trustProxy: config.trustProxy,
        tls: tls !== undefined,
        bodyTimeoutMs: config.bodyTimeoutMs,
      }),
      tls,
      options.limits,
    );
    upgrades.listen(server, tls ? 'secureConnection' : 'connection');
    retention.begin();
    upkeep.begin();
    if (!tls && !isLoopback(config.host))
      logger.warn('server.keys_travel_in_the_clear', { host: config.host });
    const url = await listen(server, config.host, config.port, tls ? 'https' : 'http');
    const closed = onceClosed(server);
    closers.push(() => {
      server.closeAllConnections();
      return closed;
    });
    return {
      url,
      developmentKey: developersKey,
      close: async () => {
        server.close();
        // What is left to the next server is no stray.
        await sweep.close();
        await runner.close(config.shutdownGraceMs);
        sockets.close();
        for (const { transport } of sessions.all()) transport.closeStandaloneSSEStream();
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
