import { describe, expect, test } from '@jest/globals';
import { resolve } from 'node:path';
import { ConfigError, readConfig } from './config.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('config', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(readConfig({})).toEqual({
      port: 8003,
      host: '127.0.0.1',
      dataDir: resolve('data'),
      sandboxImage: 'secbox/sandbox:latest',
      maxConcurrentExecs: 4,
      maxQueuedExecs: 100,
      maxBodyBytes: 16 * 1024 ** 2,
      maxUploadBytes: 1024 ** 3,
      shutdownGraceMs: 10_000,
      logLevel: 'info',
      logFormat: 'auto',
      engineAdapter: 'dockerode',
      dockerHost: undefined,
      dockerCertPath: undefined,
      dockerContext: 'default',
      engineSource: 'socket',
    });
  });

  test('is frozen', () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
  });

  test('an empty value counts as absent', () => {
    expect(readConfig({ PORT: '', SECBOX_HOST: ' ' })).toEqual(readConfig({}));
  });

  test('tells every problem at once, with the variable and what it may be', () => {
    const problems = problemsOf({ PORT: '80a', SECBOX_LOG_LEVEL: 'loud', SECBOX_MAX_CONCURRENT_EXECS: '0' });
    expect(problems).toEqual([
      expect.stringMatching(/^PORT="80a" .* 0 to 65535/),
      expect.stringMatching(/^SECBOX_MAX_CONCURRENT_EXECS="0" .* 1 to 256/),
      expect.stringMatching(/^SECBOX_LOG_LEVEL="loud" .* error, warn, info, debug/),
    ]);
  });

  test.each(['0x10', '1e3', '-1', '70000', '8003.5', 'Infinity', '99999999999999999999'])(
    'PORT=%s is refused',
    (port) => {
      expect(problemsOf({ PORT: port })).toHaveLength(1);
    },
  );

  test.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost'])(
    'SECBOX_HOST=%s is a loopback address',
    (host) => {
      expect(readConfig({ SECBOX_HOST: host }).host).toBe(host);
    },
  );

  test.each(['0.0.0.0', '::', '192.168.1.4', 'example.org', '127.0.0.1.example.org'])(
    'SECBOX_HOST=%s is refused while callers are not authenticated (case 61)',
    (host) => {
      expect(problemsOf({ SECBOX_HOST: host })).toEqual([expect.stringContaining('loopback')]);
    },
  );

  test.each(['ssh://host', 'docker.sock', 'unix:'])('DOCKER_HOST=%s is told as a problem', (host) => {
    expect(problemsOf({ DOCKER_HOST: host })).toEqual([expect.stringContaining('DOCKER_HOST')]);
  });

  test('certificates count only when TLS is asked for', () => {
    expect(readConfig({ DOCKER_CERT_PATH: '/c' }).dockerCertPath).toBeUndefined();
    expect(readConfig({ DOCKER_CERT_PATH: '/c', DOCKER_TLS_VERIFY: '1' }).dockerCertPath).toBe('/c');
  });

  test('certificates are looked for where the docker program has them', () => {
    const tls = { DOCKER_TLS_VERIFY: '1' };
    expect(readConfig(tls, '/home/me').dockerCertPath).toBe('/home/me/.docker');
    expect(readConfig({ ...tls, DOCKER_CONFIG: '/d' }, '/home/me').dockerCertPath).toBe('/d');
    expect(
      readConfig({ ...tls, DOCKER_CONFIG: '/d', DOCKER_CERT_PATH: '/c' }, '/home/me').dockerCertPath,
    ).toBe('/c');
  });
});
