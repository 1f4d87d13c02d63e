import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { env } from 'node:process';
import { describeContainerEngine } from './container-engine.contract.js';
import { describePrestart } from './container-prestart.contract.js';
import { DockerodeEngine } from './dockerode-engine.js';
import { defaultDockerHost, parseDockerHost } from './endpoint.js';

const seccompProfile = readFileSync(new URL('../../../docker/seccomp.json', import.meta.url), 'utf8');
const dockerHost = env['DOCKER_HOST'] ?? defaultDockerHost;

const suite = {
  dockerHost,
  imageReference: 'secbox/sandbox:latest',
  makeEngine: (host: string) => new DockerodeEngine(parseDockerHost(host), { seccompProfile }),
};

describeContainerEngine('dockerode', suite);
describePrestart('dockerode', suite);

test.each([
  { DOCKER_HOST: 'tcp://127.0.0.1:1' },
  { DOCKER_HOST: 'ssh://nobody@127.0.0.1:1' },
  { DOCKER_HOST: 'unix:///nowhere' },
  { DOCKER_HOST: 'tcp://127.0.0.1:1', DOCKER_PATH_PREFIX: '/nowhere/', DOCKER_CLIENT_TIMEOUT: '1' },
])('dockerode speaks to the engine it was given, whatever the environment says: %j', async (changes) => {
  const before = { ...env };
  Object.assign(env, changes);
  try {
    const engine = new DockerodeEngine(parseDockerHost(dockerHost), { seccompProfile });
    expect((await engine.info()).cpus).toBeGreaterThan(0);
  } finally {
    for (const name of Object.keys(changes)) Reflect.deleteProperty(env, name);
    Object.assign(env, before);
  }
});
