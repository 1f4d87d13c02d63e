export { configVariables, ConfigError, readConfig, type Config } from './config.js';
export { keyCommand, type KeyCommandOutput } from './key-command.js';
export { startService, type Service, type ServiceOptions } from './service.js';
export { routeAccess, type RouteAccess, type RouteName } from './route-access.js';
