export {
  createLogger,
  logLevels,
  type Fields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
} from './logger.js';
export { oneLine } from './redact.js';
