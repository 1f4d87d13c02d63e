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

export interface RootLogger extends Logger {
  /** Writes what is still to be written; to be called before the process ends. */
  flush(): void;
}

/**
 * Trouble is written at once, and all before it. What else there is to tell is written when the work at hand is done: a
 * caller who waits for an answer does not wait for its line in the log.
 */
export function createLogger(options: LoggerOptions): RootLogger {
  const winston = createWinston({
    level: options.level,
    levels: { error: 0, warn: 1, info: 2, debug: 3 },
    format: format.printf((line) => String(line.message)),
    transports: [new transports.Stream({ stream: options.destination })],
  });
  const render = options.format === 'json' ? renderJson : renderPretty;

  let unwritten: (() => void)[] = [];
  const flush = () => {
    const lines = unwritten;
    unwritten = [];
    for (const write of lines) write();
  };
  const enabled = new Set(logLevels.slice(0, logLevels.indexOf(options.level) + 1));

  const withFields = (inherited: Fields): Logger => {
    const at = (level: LogLevel) => (event: string, fields?: Fields) => {
      if (!enabled.has(level)) return;
      const time = new Date();
      unwritten.push(() =>
        winston.log(level, render(time, level, event, redact({ ...inherited, ...fields }))),
      );
      if (level === 'error' || level === 'warn') flush();
      else if (unwritten.length === 1) setImmediate(flush);
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      child: (fields) => withFields({ ...inherited, ...fields }),
    };
  };
  return { ...withFields({}), flush };
}

type Render = (time: Date, level: LogLevel, event: string, fields: Fields) => string;

/** JSON itself lets some of what breaks or reorders a line through; escaped, it is the same text. */
const renderJson: Render = (time, level, event, fields) =>
  oneLine(JSON.stringify({ time: time.toISOString(), level, event, ...fields }));

const renderPretty: Render = (time, level, event, fields) => {
  const shown = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
  return oneLine([time.toISOString().slice(11, 23), level.padEnd(5), event, ...shown].join(' '));
};

function plain(value: unknown): string {
  return typeof value === 'string' && !value.includes(' ') ? value : JSON.stringify(value);
}
