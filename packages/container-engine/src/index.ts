export type {
  Attachment,
  ContainerEnd,
  ContainerEngine,
  ContainerId,
  ContainerOwner,
  ContainerSpec,
  EngineImage,
  EngineInfo,
  OutputChunk,
  OwnedContainer,
} from './container-engine.js';
export { DockerodeEngine } from './dockerode-engine.js';
export { defaultDockerHost, parseDockerHost, type EngineEndpoint } from './endpoint.js';
export { bindMountsOf, containerPaths, labels } from './hardening.js';
