export { createLogger, logLevels, type Logger, type LoggerOptions, type LogLevel } from './logger.js';
export { oneLine, type Fields } from './redact.js';
