import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  defaultDockerHost,
  DockerodeEngine,
  parseDockerHost,
  type ContainerEngine,
} from '@secbox/container-engine';
import { bad, good, reasonOf, type Finding } from './finding.js';

interface EnginePlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly dataFolder: string;
}

/** The engine that is named, else the private one of the data folder, else the system's. */
export function engineHost({ environment, dataFolder }: EnginePlace): string {
  const named = environment['DOCKER_HOST']?.trim();
  if (named) return named;
  const own = join(dataFolder, 'engine', 'docker.sock');
  return existsSync(own) ? `unix://${own}` : defaultDockerHost;
}

export async function checkEngine(place: EnginePlace): Promise<Finding[]> {
  const host = engineHost(place);
  const { environment } = place;
  try {
    const certificates = environment['DOCKER_TLS_VERIFY'] ? environment['DOCKER_CERT_PATH'] : undefined;
    const engine = new DockerodeEngine(parseDockerHost(host, certificates), { seccompProfile: '' });
    const { version, cpus, memoryBytes, operatingSystem } = await engine.info();
    const memory = `${(memoryBytes / 1024 ** 3).toFixed(1)} GiB`;
    return [
      good('engine', `Docker ${version} at ${host}: ${cpus} cpus, ${memory}, ${operatingSystem}`),
      await checkImage(
        engine,
        'sandbox image',
        environment['SECBOX_SANDBOX_IMAGE'] ?? 'secbox/sandbox:latest',
        'npm run image',
      ),
      await checkImage(
        engine,
        'data image',
        environment['SECBOX_DATA_IMAGE'] ?? 'secbox/data:latest',
        'npm run image -- data',
      ),
    ];
  } catch (error) {
    return [
      bad(
        'engine',
        `${host}: ${reasonOf(error)}`,
        '"npm start" brings one up; "npm run engine:status" says how the private one is.',
      ),
    ];
  }
}

async function checkImage(
  engine: Pick<ContainerEngine, 'findImage'>,
  about: string,
  reference: string,
  made: string,
): Promise<Finding> {
  const image = await engine.findImage(reference);
  if (!image) return bad(about, `the engine does not have ${reference}`, `Make it: ${made}`);
  return good(about, `${reference} ${image.id.slice(0, 19)}`);
}
