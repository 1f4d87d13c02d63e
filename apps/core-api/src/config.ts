import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseDockerHost } from '@secbox/container-engine';
import { securityModeNames, type SecurityModeName } from '@secbox/contracts';
import { logLevels, type LogLevel } from '@secbox/logging';
import type { RuntimeModeSetting } from '@secbox/workspace';
import { isLoopback } from './host-guard.js';
import { readTrustProxy } from './trust-proxy.js';

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly auth: 'keys' | 'off';
  /** Whether a key for trying things is made in the data folder. */
  readonly developmentKey: boolean;
  readonly allowedHosts: readonly string[];
  readonly trustProxy: number | readonly string[] | false;
  readonly tls: { readonly certFile: string; readonly keyFile: string } | undefined;
  readonly dataDir: string;
  readonly runtimeMode: RuntimeModeSetting;
  readonly sandboxImage: string;
  readonly dataImage: string;
  readonly skillsDir: string | undefined;
  readonly maxConcurrentExecs: number;
  readonly maxQueuedExecs: number;
  readonly poolSize: number;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  readonly bodyTimeoutMs: number;
  readonly shutdownGraceMs: number;
  readonly logLevel: LogLevel;
  readonly logFormat: 'json' | 'pretty' | 'auto';
  readonly engineAdapter: 'dockerode' | 'cli';
  readonly dockerHost: string | undefined;
  readonly dockerCertPath: string | undefined;
  readonly dockerContext: string;
  readonly engineSource: string;
  readonly mountsProgram: string | undefined;
  /** What holds unless Settings say otherwise. */
  readonly securityMode: SecurityModeName;
  /** Whether commands may be run as processes of this host at all. */
  readonly subprocess: boolean;
  readonly subprocessProgram: string | undefined;
  /** What webhooks are signed with. */
  readonly webhookSecret: string | undefined;
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
  'SECBOX_AUTH',
  'SECBOX_DEV_KEY',
  'SECBOX_ALLOWED_HOSTS',
  'SECBOX_TRUST_PROXY',
  'SECBOX_TLS_CERT',
  'SECBOX_TLS_KEY',
  'SECBOX_DATA_DIR',
  'SECBOX_RUNTIME_MODE',
  'SECBOX_SANDBOX_IMAGE',
  'SECBOX_DATA_IMAGE',
  'SECBOX_SKILLS_DIR',
  'SECBOX_MAX_CONCURRENT_EXECS',
  'SECBOX_MAX_QUEUED_EXECS',
  'SECBOX_POOL_SIZE',
  'SECBOX_MAX_BODY_MB',
  'SECBOX_MAX_UPLOAD_MB',
  'SECBOX_BODY_TIMEOUT_MS',
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
  'SECBOX_MOUNTS_PROGRAM',
  'SECBOX_SECURITY_MODE',
  'SECBOX_SUBPROCESS',
  'SECBOX_SUBPROCESS_PROGRAM',
  'SECBOX_WEBHOOK_SECRET',
] as const;

export type ConfigVariable = (typeof configVariables)[number];

/** Pure: the same environment gives the same frozen config, or one error that names every problem. */
export function readConfig(environment: Environment, home = homedir()): Config {
  const problems: string[] = [];
  const read = readerOf(environment, problems);

  const host = read.text('SECBOX_HOST', '127.0.0.1');
  const config: Config = {
    port: read.integer('PORT', 8003, 0, 65_535),
    host,
    auth: read.choice('SECBOX_AUTH', 'keys', ['keys', 'off']),
    // A key that may do everything is for trying things on one's own machine.
    developmentKey: read.choice('SECBOX_DEV_KEY', 'off', ['on', 'off']) === 'on' && isLoopback(host),
    allowedHosts: read.list('SECBOX_ALLOWED_HOSTS'),
    trustProxy: readTrustProxy(read.optional('SECBOX_TRUST_PROXY'), problems),
    tls: read.pair('SECBOX_TLS_CERT', 'SECBOX_TLS_KEY'),
    dataDir: resolve(read.text('SECBOX_DATA_DIR', 'data')),
    runtimeMode: read.choice('SECBOX_RUNTIME_MODE', 'auto', ['auto', 'windows', 'wsl', 'linux']),
    sandboxImage: read.text('SECBOX_SANDBOX_IMAGE', 'secbox/sandbox:latest'),
    dataImage: read.text('SECBOX_DATA_IMAGE', 'secbox/data:latest'),
    skillsDir: absolute(read.optional('SECBOX_SKILLS_DIR')),
    maxConcurrentExecs: read.integer('SECBOX_MAX_CONCURRENT_EXECS', 4, 1, 256),
    maxQueuedExecs: read.integer('SECBOX_MAX_QUEUED_EXECS', 100, 0, 100_000),
    poolSize: read.integer('SECBOX_POOL_SIZE', 4, 0, 64),
    maxBodyBytes: read.integer('SECBOX_MAX_BODY_MB', 16, 1, 512) * 1024 ** 2,
    maxUploadBytes: read.integer('SECBOX_MAX_UPLOAD_MB', 1024, 1, 1_048_576) * 1024 ** 2,
    bodyTimeoutMs: read.integer('SECBOX_BODY_TIMEOUT_MS', 30_000, 100, 600_000),
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
    mountsProgram: read.path('SECBOX_MOUNTS_PROGRAM'),
    securityMode: read.choice('SECBOX_SECURITY_MODE', 'STRICT', securityModeNames),
    subprocess: read.choice('SECBOX_SUBPROCESS', 'off', ['on', 'off']) === 'on',
    subprocessProgram: read.path('SECBOX_SUBPROCESS_PROGRAM'),
    webhookSecret: read.optional('SECBOX_WEBHOOK_SECRET'),
  };
  if ((config.webhookSecret?.length ?? leastSecret) < leastSecret) {
    problems.push(`SECBOX_WEBHOOK_SECRET must have at least ${leastSecret} characters.`);
  }
  if (config.auth === 'off' && !isLoopback(host)) {
    problems.push(
      `SECBOX_HOST="${host}" is not a loopback address, and SECBOX_AUTH=off lets in whoever reaches it. Listen on 127.0.0.1, ::1 or localhost, or leave SECBOX_AUTH at "keys".`,
    );
  }
  for (const name of config.allowedHosts) {
    if (!hostName.test(name)) problems.push(`SECBOX_ALLOWED_HOSTS: "${name}" is not a host name.`);
  }
  const engineProblem = dockerHostProblem(config.dockerHost);
  if (engineProblem !== undefined) problems.push(engineProblem);
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/** A shorter one could be guessed. */
const leastSecret = 16;

/** Without scheme or port. */
const hostName = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i;

function absolute(path: string | undefined): string | undefined {
  return path === undefined ? undefined : resolve(path);
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
    list: (name: ConfigVariable) => (optional(name) ?? '').split(/[\s,]+/).filter(Boolean),
    /** Both files or none. */
    pair(cert: ConfigVariable, key: ConfigVariable) {
      const [certFile, keyFile] = [optional(cert), optional(key)];
      if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile };
      if (certFile !== undefined || keyFile !== undefined) {
        problems.push(`${cert} and ${key} belong together: TLS takes a certificate and its key.`);
      }
      return undefined;
    },
    text: (name: ConfigVariable, fallback: string) => optional(name) ?? fallback,
    path(name: ConfigVariable): string | undefined {
      const text = optional(name);
      return text === undefined ? undefined : resolve(text);
    },
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
