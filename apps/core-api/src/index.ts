export { configVariables, ConfigError, readConfig, type Config } from './config.js';
export { startService, type Service, type ServiceOptions } from './service.js';
