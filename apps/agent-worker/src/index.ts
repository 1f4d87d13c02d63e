export { ConfigError, readWorkerConfig, workerVariables, type WorkerConfig } from './config.js';
export { SkillsProvider, type SkillsProviderOptions } from './skills-provider.js';
