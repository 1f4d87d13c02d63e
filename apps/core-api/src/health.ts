import { access, constants, statfs } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { ContainerEngine } from '@secbox/container-engine';
import type { Database } from '@secbox/database';
import type { Workspace } from '@secbox/workspace';
import type { Config } from './config.js';
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
  readonly disk: { readonly free_bytes: number; readonly total_bytes: number };
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
  /** The runtime in force. */
  readonly runtime: () => string;
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
    const [docker, image, writable, databaseWritable, cli, disk] = await Promise.all([
      orTold('engine', engine.info()),
      orTold('image', engine.findImage(config.sandboxImage)),
      orTold('workspace', access(workspace.root, constants.W_OK).then(always)),
      orTold('database', parts.database.checkWritable().then(always)),
      findProgram('docker', parts.searchPath),
      statfs(workspace.root),
    ]);
    if (docker && !image) problems.push(`image: ${config.sandboxImage} is not there; run "npm run image".`);
    const runtime = parts.runtime();
    const lost = docker && runtimeProblem(runtime, docker);
    if (lost !== undefined) problems.push(`runtime: ${lost} No exec can run.`);
    const warning = docker && runtimeWarning(runtime, docker);
    return {
      status: problems.length === 0 ? 'ok' : 'degraded',
      problems,
      warnings: warning === undefined ? [] : [warning],
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
      disk: { free_bytes: disk.bavail * disk.bsize, total_bytes: disk.blocks * disk.bsize },
    };
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
