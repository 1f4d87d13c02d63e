import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultDockerHost, type EngineEndpoint, parseDockerHost } from './endpoint.js';

const http = (host: string, port: number): EngineEndpoint => ({ protocol: 'http', host, port });
const https = (host: string, port: number): EngineEndpoint => ({ protocol: 'https', host, port });

describe('DOCKER_HOST', () => {
  test.each<[string, EngineEndpoint]>([
    ['unix:///var/run/docker.sock', { socketPath: '/var/run/docker.sock' }],
    ['unix:///data/a b/数据/docker.sock', { socketPath: '/data/a b/数据/docker.sock' }],
    ['unix://relative.sock', { socketPath: 'relative.sock' }],
    ['npipe:////./pipe/docker_engine', { socketPath: '//./pipe/docker_engine' }],
    ['tcp://localhost:2375', http('localhost', 2375)],
    ['tcp://localhost', http('localhost', 2375)],
    ['tcp://docker.example.com:80', http('docker.example.com', 80)],
    ['tcp://docker.example.com:443/', http('docker.example.com', 443)],
    ['http://10.0.0.1:80', http('10.0.0.1', 80)],
    ['https://10.0.0.1:443', https('10.0.0.1', 443)],
    ['https://10.0.0.1', https('10.0.0.1', 2376)],
    ['tcp://[::1]:2375', http('::1', 2375)],
    ['tcp://[fe80::1]', http('fe80::1', 2375)],
    ['tcp://my_host-1:65535', http('my_host-1', 65_535)],
  ])('%s is understood', (dockerHost, endpoint) => {
    expect(parseDockerHost(dockerHost)).toEqual(endpoint);
  });

  test.each([
    '',
    'unix://',
    'tcp://',
    'localhost:2375',
    '/var/run/docker.sock',
    'ssh://user@host',
    'fd://',
    'TCP://host:1',
    'tcp://host:',
    'tcp://host:port',
    'tcp://host:0',
    'tcp://host:65536',
    'tcp://host:-1',
    'tcp://user@host:2375',
    'tcp://host:2375/prefix',
    'tcp://host:2375?x',
    'tcp://ho st:2375',
    'tcp://::1:2375',
    'tcp://[::1',
  ])('%j is refused, with what it was and what it should be', (dockerHost) => {
    expect(() => parseDockerHost(dockerHost)).toThrow(`DOCKER_HOST="${dockerHost}" is not of the form`);
  });

  test('the default is understood', () => {
    expect(parseDockerHost(defaultDockerHost)).toHaveProperty('socketPath');
  });
});

describe('DOCKER_CERT_PATH', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'secbox-certificates-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  test('turns TLS on, with its port and the three files', async () => {
    for (const name of ['ca', 'cert', 'key']) await writeFile(join(folder, `${name}.pem`), `the ${name}`);
    const files = { ca: 'the ca', cert: 'the cert', key: 'the key' };
    expect(parseDockerHost('tcp://host', folder)).toEqual({ ...https('host', 2376), ...files });
    expect(parseDockerHost('tcp://host:1', folder)).toEqual({ ...https('host', 1), ...files });
  });

  test('without its files is told with the one that is missing', async () => {
    await writeFile(join(folder, 'ca.pem'), 'the ca');
    expect(() => parseDockerHost('tcp://host', folder)).toThrow(join(folder, 'cert.pem'));
  });

  test('means nothing for a socket', () => {
    expect(parseDockerHost('unix:///x.sock', '/nowhere')).toEqual({ socketPath: '/x.sock' });
  });
});
