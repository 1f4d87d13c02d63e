import { describe, expect, test } from '@jest/globals';
import { cliFailure, DockerCliError, isMissing } from './cli-failure.js';

const failureOf = (stderr: string) => cliFailure('wait', { code: 1, signal: null }, stderr);

describe('what the docker program says', () => {
  test.each([
    'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
    'failed to connect to the docker API at unix:///var/run/docker.sock; check if the path is correct and if the daemon is running: dial unix /var/run/docker.sock: connect: no such file or directory',
    'error during connect: this error may indicate that the docker daemon is not running: Get "http://%2F%2F.%2Fpipe%2Fdocker_engine/_ping": open //./pipe/docker_engine: The system cannot find the file specified.',
    'error during connect: Post "http://%2Fx.sock/v1.41/containers/x/wait": read unix @->x.sock: read: connection reset by peer',
    'permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: dial unix: connect: permission denied',
    'Failed to initialize: unable to resolve docker endpoint: context "x": context not found',
    'unexpected EOF\n',
  ])('of an engine that is not there: %s', (stderr) => {
    expect(failureOf(stderr)).toMatchObject({
      code: 'engine_unavailable',
      message: 'The container engine does not answer (wait).',
    });
  });

  test.each([
    'Error response from daemon: No such container: x',
    'Error response from daemon: Get "https://registry/v2/": dial tcp: connection refused',
    'docker: invalid argument "x" for "--memory" flag: invalid size',
    'Error response from daemon: unexpected EOF',
  ])('of an engine that refuses: %s', (stderr) => {
    const failure = failureOf(stderr);
    expect(failure).toBeInstanceOf(DockerCliError);
    expect(failure.message).toBe(`docker wait: ${stderr}`);
  });

  test.each([
    ['Error response from daemon: No such container: x', true],
    ['Error: No such container: x', true],
    ['Error: No such image: x', true],
    ['Error response from daemon: no such image: X: invalid reference format: must be lowercase', false],
    ['Error response from daemon: Container x is not running', false],
    ['Cannot connect to the Docker daemon at unix:///no such container', false],
  ])('of what is missing: %s', (stderr, missing) => {
    expect(isMissing(failureOf(stderr))).toBe(missing);
  });
});
