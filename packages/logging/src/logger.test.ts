import { describe, expect, test } from '@jest/globals';
import { Writable } from 'node:stream';
import { createLogger, type LoggerOptions } from './logger.js';

function capture(options: Omit<LoggerOptions, 'destination'>) {
  const chunks: string[] = [];
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk.toString());
      done();
    },
  });
  const log = createLogger({ ...options, destination });
  const written = () => chunks.join('').split('\n').slice(0, -1);
  const lines = () => {
    log.flush();
    return written();
  };
  return { log, lines, written };
}

describe('a line is written', () => {
  test('when the work at hand is done', async () => {
    const { log, written } = capture({ level: 'info', format: 'json' });
    log.info('one');
    log.info('two');
    expect(written()).toEqual([]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(written().map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['one', 'two']);
  });

  test.each(['warn', 'error'] as const)('at once when it is %s, behind those before it', (level) => {
    const { log, written } = capture({ level: 'info', format: 'json' });
    log.info('one');
    log[level]('two');
    expect(written().map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['one', 'two']);
  });
});

describe('json lines', () => {
  test('carry time, level, event, and the fields of every parent', () => {
    const { log, lines } = capture({ level: 'info', format: 'json' });
    log.child({ exec_id: 'e1' }).child({ step: 'start' }).info('exec.started', { image: 'i' });
    const line = JSON.parse(lines()[0] ?? '') as Record<string, unknown>;
    expect(line).toMatchObject({
      level: 'info',
      event: 'exec.started',
      exec_id: 'e1',
      step: 'start',
      image: 'i',
    });
    expect(Date.parse(String(line['time']))).not.toBeNaN();
  });

  test('leave out what is below the level', () => {
    const { log, lines } = capture({ level: 'warn', format: 'json' });
    log.info('quiet');
    log.warn('loud');
    expect(lines()).toHaveLength(1);
  });

  test('hide sensitive values at any depth, and keep what is beside them', () => {
    const { log, lines } = capture({ level: 'debug', format: 'json' });
    const canary = 'canary-5f1d';
    log.error('refused', {
      headers: { authorization: canary, 'X-API-Key': canary, host: 'visible' },
      exec: { env: { KEY: canary }, stdin: canary, inputs: [{ path: 'p', content: canary }] },
    });
    expect(lines().join()).not.toContain(canary);
    expect(lines().join()).toContain('visible');
  });

  test('tell an error with its cause', () => {
    const { log, lines } = capture({ level: 'debug', format: 'json' });
    log.error('failed', { error: new Error('outer', { cause: new Error('inner') }) });
    expect(JSON.parse(lines()[0] ?? '')).toMatchObject({
      error: { message: 'outer', cause: { message: 'inner' } },
    });
  });
});

describe.each(['json', 'pretty'] as const)('%s lines', (format) => {
  test('stay one line whatever a caller sends (case 68)', () => {
    const { log, lines } = capture({ level: 'info', format });
    const sent = 'echo\nlevel=error event=forged\u001b[31m\u0085\u009b\u2028\u202e\u2066\u200f x';
    log.info('exec.submitted', { command: sent });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u);
    if (format === 'json') expect(JSON.parse(lines()[0] ?? '')).toMatchObject({ command: sent });
  });

  test('survive cycles, huge strings, and values JSON does not know', () => {
    const { log, lines } = capture({ level: 'info', format });
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    log.info('odd', {
      cycle,
      big: 'x'.repeat(1e6),
      n: 10n,
      f: () => 1,
      d: new Date(NaN),
      b: Buffer.alloc(9),
    });
    expect(lines()).toHaveLength(1);
    expect(lines()[0]?.length).toBeLessThan(10_000);
  });
});
