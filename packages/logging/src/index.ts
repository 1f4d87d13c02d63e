export {
  createLogger,
  logLevels,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  type RootLogger,
} from './logger.js';
export { oneLine, type Fields } from './redact.js';
