import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { CliEngine, type ContainerEngine, DockerodeEngine, parseDockerHost } from '@secbox/container-engine';
import type { Config } from './config.js';

/** From the sources as from the compiled files, the repository's own. */
const seccompProfilePath = new URL('../../../docker/seccomp.json', import.meta.url);

/** By the adapter that the configuration names. */
export async function openEngine(
  { config, searchPath }: { readonly config: Config; readonly searchPath: string },
  dockerHost: string,
): Promise<ContainerEngine> {
  if (config.engineAdapter === 'dockerode') {
    const endpoint = parseDockerHost(dockerHost, config.dockerCertPath);
    return new DockerodeEngine(endpoint, { seccompProfile: await readFile(seccompProfilePath, 'utf8') });
  }
  const tls =
    config.dockerCertPath === undefined
      ? {}
      : { DOCKER_CERT_PATH: config.dockerCertPath, DOCKER_TLS_VERIFY: '1' };
  return new CliEngine(
    { program: 'docker', environment: { PATH: searchPath, DOCKER_HOST: dockerHost, ...tls } },
    { seccompProfilePath: fileURLToPath(seccompProfilePath) },
  );
}
