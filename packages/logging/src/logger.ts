import { createLogger as createWinston, format, transports } from 'winston';
import type { Writable } from 'node:stream';
import { oneLine, redact, type Fields } from './redact.js';

export const logLevels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof logLevels)[number];

/** `event` is a constant name such as `exec.finished`; what varies goes into the fields. */
export interface Logger {
  error(event: string, fields?: Fields): void;
  warn(event: string, fields?: Fields): void;
  info(event: string, fields?: Fields): void;
  debug(event: string, fields?: Fields): void;
  /** A logger that adds these fields to each of its lines. */
  child(fields: Fields): Logger;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: 'json' | 'pretty';
  readonly destination: Writable;
}

export function createLogger(options: LoggerOptions): Logger {
  const winston = createWinston({
    level: options.level,
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    format: format.printf((line) => String(line.message)),
    transports: [new transports.Stream({ stream: options.destination })],
  });
  const render = options.format === 'json' ? renderJson : renderPretty;

  const withFields = (inherited: Fields): Logger => {
    const at = (level: LogLevel) => (event: string, fields?: Fields) => {
      if (!winston.isLevelEnabled(level)) return;
      winston.log(level, render(new Date(), level, event, redact({ ...inherited, ...fields })));
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      child: (fields) => withFields({ ...inherited, ...fields }),
    };
  };
  return withFields({});
}

type Render = (time: Date, level: LogLevel, event: string, fields: Fields) => string;

const renderJson: Render = (time, level, event, fields) =>
  JSON.stringify({ time: time.toISOString(), level, event, ...fields });

const renderPretty: Render = (time, level, event, fields) => {
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
  return oneLine([time.toISOString().slice(11, 23), level.padEnd(5), event, ...shown].join(' '));
};

function plain(value: unknown): string {
  return typeof value === 'string' && !value.includes(' ') ? value : JSON.stringify(value);
}
