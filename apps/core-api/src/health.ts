import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { hasInit, type ContainerEngine } from '@secbox/container-engine';
import type { Database } from '@secbox/database';
import {
  artifactsLimit,
  type Account,
  type DiskLimits,
  type DiskReport,
  type LayeredReport,
  type LayeredWork,
  type Strays,
  type WarmReport,
} from '@secbox/exec-runner';
import type { Workspace } from '@secbox/workspace';
import type { Config } from './config.js';
import type { SecurityReport } from './open-sandboxes.js';
import { runtimeNames, runtimeProblem, runtimeWarning } from './runtime.js';

export type HealthCheck = () => Promise<Health>;

export interface Health {
  readonly status: 'ok' | 'degraded';
  /** What is wrong, in words; empty when all is well. */
  readonly problems: readonly string[];
  /** What holds less than it should, although execs run. */
  readonly warnings: readonly string[];
  readonly version: string;
  readonly runtime_mode: string;
  readonly workspace_root_native: string;
  readonly workspace_writable: boolean;
  readonly database_writable: boolean;
  readonly docker_cli_path: string | null;
  readonly docker_version: string | null;
  readonly docker_context: string;
  readonly docker_host: string;
  readonly engine_source: string;
  /** What execs run under, and what the engine offers instead. */
  readonly runtime: { readonly name: string; readonly offered: readonly string[] | null };
  readonly image: { readonly reference: string; readonly id: string | null };
  readonly disk: {
    readonly free_bytes: number;
    readonly total_bytes: number;
    /** Below this nothing starts, and what fills the disk is ended. */
    readonly min_free_bytes: number;
    /** What a project may keep, and what an exec may hold while it runs. */
    readonly work: DiskLimit;
    readonly artifacts: DiskLimit;
    /** Of a user's general sandbox. */
    readonly sandbox: DiskLimit;
  };
  /** How the sandbox of an exec is chosen, and whether it may be a process of this host. */
  readonly security: SecurityReport;
  /** How execs get at layered skills: by the kernel, or by copies. */
  readonly layers: LayeredReport;
  /** Whether containers are started ahead of the execs that will run in them. */
  readonly pool: WarmReport;
  /** What belonged to no exec and was cleared away, since this server started. */
  readonly strays: Strays;
  /** What the engine says it started, held against the rows. */
  readonly account: Account;
}

/** Hard: the kernel refuses what is past it. Soft: whoever goes past it is ended when that is noticed. */
export interface DiskLimit {
  readonly kind: 'hard' | 'soft';
  readonly limit_bytes: number;
  readonly why: string;
}

export interface HealthParts {
  readonly config: Pick<Config, 'dockerContext' | 'engineSource' | 'sandboxImage'>;
  readonly dockerHost: string;
  readonly runtimeMode: string;
  readonly version: string;
  /** Folders where the docker command is looked for, as in PATH. */
  readonly searchPath: string;
  readonly engine: ContainerEngine;
  readonly workspace: Workspace;
  readonly database: Pick<Database, 'checkWritable'>;
  readonly disk: Pick<DiskLimits, 'report'>;
  readonly layered: Pick<LayeredWork, 'report'>;
  readonly strays: () => Strays;
  readonly account: () => Account;
  readonly warm: () => WarmReport;
  /** Of an exec that asks for nothing else. */
  readonly maxArtifactsBytes: () => number;
  /** The runtime in force. */
  readonly runtime: () => string;
  readonly security: () => SecurityReport;
  /** What Settings leave weaker than it should be. */
  readonly warnings: () => readonly string[];
}

/** Asks every part at once; a part that fails is told, and hides none of the others. */
export function healthCheckOf(parts: HealthParts): HealthCheck {
  const { config, engine, workspace } = parts;
  return async () => {
    const problems: string[] = [];
    const orTold = <T>(what: string, answer: Promise<T>) =>
      answer.catch((error: unknown) => {
        problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      });
    const [docker, image, writable, databaseWritable, cli, disk, layers] = await Promise.all([
      orTold('engine', engine.info()),
      orTold('image', engine.findImage(config.sandboxImage)),
      orTold('workspace', access(workspace.root, constants.W_OK).then(always)),
      orTold('database', parts.database.checkWritable().then(always)),
      findProgram('docker', parts.searchPath),
      parts.disk.report(),
      parts.layered.report(),
    ]);
    if (docker && !image) problems.push(`image: ${config.sandboxImage} is not there; run "npm run image".`);
    if (disk.belowFloor) problems.push('disk: nearly full; no exec starts until there is room again.');
    const account = parts.account();
    if (account.unaccounted_total > 0) {
      problems.push(
        `account: ${account.unaccounted_total} containers with our label were started that no row accounts for.`,
      );
    }
    const runtime = parts.runtime();
    const lost = docker && runtimeProblem(runtime, docker);
    if (lost !== undefined) problems.push(`runtime: ${lost} No exec can run.`);
    const warning = docker && runtimeWarning(runtime, docker);
    const imageWarning =
      image && !hasInit(image)
        ? [`image: ${config.sandboxImage} has no init of ours: no container waits, and exec.env is refused.`]
        : [];
    return {
      status: problems.length === 0 ? 'ok' : 'degraded',
      problems,
      warnings: [...(warning === undefined ? [] : [warning]), ...imageWarning, ...parts.warnings()],
      version: parts.version,
      runtime_mode: parts.runtimeMode,
      workspace_root_native: workspace.root,
      workspace_writable: writable === true,
      database_writable: databaseWritable === true,
      docker_cli_path: cli,
      docker_version: docker?.version ?? null,
      docker_context: config.dockerContext,
      docker_host: parts.dockerHost,
      engine_source: config.engineSource,
      runtime: { name: runtime, offered: docker ? runtimeNames(docker) : null },
      image: { reference: config.sandboxImage, id: image?.id ?? null },
      disk: diskPart(disk, parts.maxArtifactsBytes()),
      security: parts.security(),
      layers,
      pool: parts.warm(),
      strays: parts.strays(),
      account,
    };
  };
}

/** Quoted, or all that a text is, or up to what ends a word. */
const hostPath =
  /'(?:\/|[a-z]:\\)[^']*'|(?<=^(?:unix:|npipe:)?)(?:\/|[a-z]:\\).*|(?<![\w.])(?:\/|[a-z]:\\)[^\s'",;:()]*/gi;

/** What of it is for everyone who may ask: how all is, without places on the host, and without what is another tenant's. */
export function withoutParticulars(health: Health): Health {
  const text = JSON.stringify({ ...health, account: { ...health.account, unaccounted: [] } });
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === 'string' ? value.replaceAll(hostPath, '…') : value,
  ) as Health;
}

function diskPart(disk: DiskReport, maxArtifactsBytes: number): Health['disk'] {
  return {
    free_bytes: disk.freeBytes,
    total_bytes: disk.totalBytes,
    min_free_bytes: disk.minFreeBytes,
    work: { kind: disk.work.kind, limit_bytes: disk.work.bytes, why: disk.work.why },
    artifacts: {
      kind: 'soft',
      limit_bytes: artifactsLimit(maxArtifactsBytes),
      why: 'measured every second while an exec runs',
    },
    sandbox: {
      kind: 'soft',
      limit_bytes: disk.work.bytes,
      why: 'measured every second while an exec runs in it',
    },
  };
}

const always = () => true;

async function findProgram(name: string, searchPath: string): Promise<string | null> {
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  for (const folder of searchPath.split(delimiter).filter(Boolean)) {
    const path = join(folder, file);
    const found = await access(path, constants.X_OK).then(always, () => false);
    if (found) return path;
  }
  return null;
}
