export type {
  Attachment,
  ContainerEnd,
  ContainerEngine,
  ContainerId,
  ContainerOwner,
  ContainerSpec,
  EngineImage,
  EngineInfo,
  EngineRuntime,
  ContainerLimits,
  ContainerPurpose,
  MountPropagation,
  OutputChunk,
  OwnedContainer,
  Prestart,
  StartedContainer,
} from './container-engine.js';
export { CliEngine, type CliHardening } from './cli-engine.js';
export type { DockerCli } from './cli-process.js';
export { DockerodeEngine } from './dockerode-engine.js';
export { defaultDockerHost, parseDockerHost, type EngineEndpoint } from './endpoint.js';
export { isGvisor } from './gvisor.js';
export { bindMountsOf, containerPaths, labels, type EngineHardening } from './hardening.js';
export { hasInit, initPath, offersPrestart } from './init-image.js';
export type { InitRequest } from './init/encode-request.js';
export { InitError } from './init/init-error.js';
export type { InitExit } from './init/init-frame.js';
export { InitSession, type InitOutcome, type RunSinks } from './init/init-session.js';
export type { StartKind } from './init/protocol.js';
export { describeStartFailure, shellExitCode } from './init/start-failure.js';
