import { execFile } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import type { ExecAnswer } from '@secbox/contracts';
import { readConfig, startService, type ServiceOptions } from '@secbox/core-api';
import { createLogger } from '@secbox/logging';

/** A whole service on a data folder and a port of its own, with the real engine behind it. */
export interface RunningService {
  readonly url: string;
  readonly dataDir: string;
  /** All log lines so far. */
  log(): string;
  /** Posts an exec and expects it to have been run. */
  exec(body: Record<string, unknown>): Promise<ExecAnswer>;
  /** A shell script in the project `p`. */
  shell(script: string, more?: Record<string, unknown>): Promise<ExecAnswer>;
  python(code: string, more?: Record<string, unknown>): Promise<ExecAnswer>;
  /** Stops the service and removes its folder. */
  close(): Promise<void>;
  /** Stops the service, keeping its folder for another. */
  stop(): Promise<void>;
}

export async function startRunningService(
  environment: Record<string, string> = {},
  dataDir?: string,
  options: Pick<ServiceOptions, 'now' | 'limits'> = {},
): Promise<RunningService> {
  const folder = dataDir ?? (await mkdtemp(join(tmpdir(), 'secbox-')));
  const lines: string[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  const service = await startService({
    config: readConfig({
      DOCKER_HOST: process.env['DOCKER_HOST'],
      DOCKER_CERT_PATH: process.env['DOCKER_CERT_PATH'],
      DOCKER_TLS_VERIFY: process.env['DOCKER_TLS_VERIFY'],
      SECBOX_SHUTDOWN_GRACE_MS: '0',
      // Who asks is what tests/access/ is about.
      SECBOX_AUTH: 'off',
      ...environment,
      PORT: '0',
      SECBOX_DATA_DIR: folder,
    }),
    logger: createLogger({ level: 'debug', format: 'json', destination }),
    searchPath: process.env['PATH'] ?? '',
    runtimeMode: 'linux',
    version: 'test',
    ...options,
  });

  const exec: RunningService['exec'] = async (body) => {
    const response = await fetch(`${service.url}/sandbox/execs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ project_id: 'p', ...body }),
    });
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text) as ExecAnswer;
  };
  return {
    url: service.url,
    dataDir: folder,
    log: () => lines.join(''),
    exec,
    shell: (script, { exec: more, ...rest }: { exec?: object } = {}) =>
      exec({ exec: { kind: 'shell', command: 'bash', args: ['-lc', script], ...more }, ...rest }),
    python: (code, { exec: more, ...rest }: { exec?: object } = {}) =>
      exec({ exec: { kind: 'python', command: 'python', args: ['-c', code], ...more }, ...rest }),
    stop: () => service.close(),
    close: async () => {
      await service.close();
      // Programs may have left trees that are deeper than a path can be long.
      await promisify(execFile)('rm', ['-rf', folder]);
    },
  };
}
