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
      auth: 'keys',
      developmentKey: false,
      allowedHosts: [],
      trustProxy: false,
      tls: undefined,
      bodyTimeoutMs: 30_000,
      dataDir: resolve('data'),
      runtimeMode: 'auto',
      sandboxImage: 'secbox/sandbox:latest',
      dataImage: 'secbox/data:latest',
      skillsDir: undefined,
      maxConcurrentExecs: 4,
      maxQueuedExecs: 100,
      poolSize: 4,
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
      mountsProgram: undefined,
      securityMode: 'STRICT',
      subprocess: false,
      subprocessProgram: undefined,
    });
  });

  test('a program is named by its absolute path', () => {
    expect(readConfig({ SECBOX_MOUNTS_PROGRAM: 'data/bin/x' }).mountsProgram).toBe(resolve('data/bin/x'));
  });

  test.each([
    [{ SECBOX_SECURITY_MODE: 'permissive' }, /STRICT, PERMISSIVE/],
    [{ SECBOX_SUBPROCESS: 'yes' }, /on, off/],
  ])('a switch that is none of its words is refused: %j', (environment, told) => {
    expect(problemsOf(environment)).toEqual([expect.stringMatching(told)]);
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
    'SECBOX_HOST=%s is refused without keys, and taken with them (case 61)',
    (host) => {
      expect(problemsOf({ SECBOX_HOST: host, SECBOX_AUTH: 'off' })).toEqual([
        expect.stringContaining('loopback'),
      ]);
      expect(readConfig({ SECBOX_HOST: host })).toMatchObject({ host, auth: 'keys' });
    },
  );

  test('a development key is for a loopback address only', () => {
    expect(readConfig({ SECBOX_DEV_KEY: 'on' }).developmentKey).toBe(true);
    expect(readConfig({}).developmentKey).toBe(false);
    expect(readConfig({ SECBOX_DEV_KEY: 'on', SECBOX_HOST: '0.0.0.0' }).developmentKey).toBe(false);
  });

  test('TLS takes both files', () => {
    expect(readConfig({ SECBOX_TLS_CERT: 'c', SECBOX_TLS_KEY: 'k' }).tls).toEqual({
      certFile: 'c',
      keyFile: 'k',
    });
    expect(readConfig({}).tls).toBeUndefined();
    for (const only of ['SECBOX_TLS_CERT', 'SECBOX_TLS_KEY']) {
      expect(problemsOf({ [only]: 'x' })).toEqual([expect.stringContaining('belong together')]);
    }
  });

  test.each([
    ['off', false],
    ['', false],
    ['2', 2],
    ['loopback, 10.0.0.0/8 fd00::/8', ['loopback', '10.0.0.0/8', 'fd00::/8']],
  ])('SECBOX_TRUST_PROXY=%s', (text, expected) => {
    expect(readConfig({ SECBOX_TRUST_PROXY: text }).trustProxy).toEqual(expected);
  });

  test.each(['true', '0', '10', 'proxy.example', '10.0.0.0/33', '1.2.3.4/8/8', '-1'])(
    'SECBOX_TRUST_PROXY=%s is told as a problem',
    (text) => {
      expect(problemsOf({ SECBOX_TRUST_PROXY: text })).toEqual([
        expect.stringContaining('SECBOX_TRUST_PROXY'),
      ]);
    },
  );

  test('SECBOX_ALLOWED_HOSTS lists names without scheme or port', () => {
    expect(readConfig({ SECBOX_ALLOWED_HOSTS: 'a.example, b' }).allowedHosts).toEqual(['a.example', 'b']);
    expect(problemsOf({ SECBOX_ALLOWED_HOSTS: 'https://a, b:80, *' })).toHaveLength(3);
  });

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
