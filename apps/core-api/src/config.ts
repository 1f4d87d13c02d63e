import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseDockerHost } from '@secbox/container-engine';
import { logLevels, type LogLevel } from '@secbox/logging';
import { isLoopback } from './loopback-only.js';

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly dataDir: string;
  readonly sandboxImage: string;
  readonly maxConcurrentExecs: number;
  readonly maxQueuedExecs: number;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  readonly shutdownGraceMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty' | 'auto';
  readonly engineAdapter: 'dockerode' | 'cli';
  readonly dockerHost: string | undefined;
  readonly dockerCertPath: string | undefined;
  readonly dockerContext: string;
  readonly engineSource: string;
}

/** Everything that is wrong with the environment, in one message. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not usable:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables this service reads, in the order of the README's table; a test keeps both in step. */
export const configVariables = [
  'PORT',
  'SECBOX_HOST',
  'SECBOX_DATA_DIR',
  'SECBOX_SANDBOX_IMAGE',
  'SECBOX_MAX_CONCURRENT_EXECS',
  'SECBOX_MAX_QUEUED_EXECS',
  'SECBOX_MAX_BODY_MB',
  'SECBOX_MAX_UPLOAD_MB',
  'SECBOX_SHUTDOWN_GRACE_MS',
  'SECBOX_LOG_LEVEL',
  'SECBOX_LOG_FORMAT',
  'SECBOX_ENGINE_ADAPTER',
  'DOCKER_HOST',
  'DOCKER_CERT_PATH',
  'DOCKER_TLS_VERIFY',
  'DOCKER_CONTEXT',
  'SECBOX_ENGINE_SOURCE',
  'DOCKER_CONFIG',
] as const;

export type ConfigVariable = (typeof configVariables)[number];

/** Pure: the same environment gives the same frozen config, or one error that names every problem. */
export function readConfig(environment: Environment, home = homedir()): Config {
  const problems: string[] = [];
  const read = readerOf(environment, problems);

  const config: Config = {
    port: read.integer('PORT', 8003, 0, 65_535),
    host: read.text('SECBOX_HOST', '127.0.0.1'),
    dataDir: resolve(read.text('SECBOX_DATA_DIR', 'data')),
    sandboxImage: read.text('SECBOX_SANDBOX_IMAGE', 'secbox/sandbox:latest'),
    maxConcurrentExecs: read.integer('SECBOX_MAX_CONCURRENT_EXECS', 4, 1, 256),
    maxQueuedExecs: read.integer('SECBOX_MAX_QUEUED_EXECS', 100, 0, 100_000),
    maxBodyBytes: read.integer('SECBOX_MAX_BODY_MB', 16, 1, 512) * 1024 ** 2,
    maxUploadBytes: read.integer('SECBOX_MAX_UPLOAD_MB', 1024, 1, 1_048_576) * 1024 ** 2,
    shutdownGraceMs: read.integer('SECBOX_SHUTDOWN_GRACE_MS', 10_000, 0, 600_000),
    logLevel: read.choice('SECBOX_LOG_LEVEL', 'info', logLevels),
    logFormat: read.choice('SECBOX_LOG_FORMAT', 'auto', ['auto', 'json', 'pretty']),
    engineAdapter: read.choice('SECBOX_ENGINE_ADAPTER', 'dockerode', ['dockerode', 'cli']),
    dockerHost: read.optional('DOCKER_HOST'),
    dockerCertPath:
      read.optional('DOCKER_TLS_VERIFY') &&
      read.text('DOCKER_CERT_PATH', read.text('DOCKER_CONFIG', join(home, '.docker'))),
    dockerContext: read.text('DOCKER_CONTEXT', 'default'),
    engineSource: read.text('SECBOX_ENGINE_SOURCE', 'socket'),
  };
  if (!isLoopback(config.host)) {
    problems.push(
      `SECBOX_HOST="${config.host}" is not a loopback address. Callers are not authenticated, so the server listens on 127.0.0.1, ::1 or localhost only.`,
    );
  }
  const engineProblem = dockerHostProblem(config.dockerHost);
  if (engineProblem !== undefined) problems.push(engineProblem);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

function dockerHostProblem(dockerHost: string | undefined): string | undefined {
  try {
    if (dockerHost !== undefined) parseDockerHost(dockerHost);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function readerOf(environment: Environment, problems: string[]) {
  /** An empty value counts as absent, as shells make it hard to tell the two apart. */
  const optional = (name: ConfigVariable): string | undefined => environment[name]?.trim() || undefined;
  return {
    optional,
    text: (name: ConfigVariable, fallback: string) => optional(name) ?? fallback,
    integer(name: ConfigVariable, fallback: number, least: number, most: number): number {
      const text = optional(name);
      if (text === undefined) return fallback;
      const value = Number(text);
      if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
      problems.push(`${name}="${text}" must be a whole number from ${least} to ${most}.`);
      return fallback;
    },
    choice<Choice extends string>(
      name: ConfigVariable,
      fallback: Choice,
      choices: readonly Choice[],
    ): Choice {
      const text = optional(name);
      if (text === undefined) return fallback;
      const chosen = choices.find((choice) => choice === text);
      if (chosen === undefined) problems.push(`${name}="${text}" must be one of ${choices.join(', ')}.`);
      return chosen ?? fallback;
    },
  };
}
