import { describe, expect, test } from '@jest/globals';
import type { Request, Response } from 'express';
import { hostGuard, type HostGuardOptions } from './host-guard.js';

function answers(options: Partial<HostGuardOptions>, host: string | undefined, origin?: string): boolean {
  const guard = hostGuard({ host: '127.0.0.1', allowedHosts: [], ...options });
  let passed = false;
  try {
    void guard({ headers: { host, origin } } as Request, {} as Response, () => (passed = true));
  } catch (error) {
    expect(error).toMatchObject({ code: 'foreign_host' });
  }
  return passed;
}

describe('on a loopback address', () => {
  test.each(['localhost', 'localhost:8003', '127.0.0.1', '127.9.9.9:1', '[::1]:8003'])('%s is us', (host) => {
    expect(answers({}, host)).toBe(true);
  });

  test.each([
    'example.org',
    '192.168.1.4',
    '0.0.0.0',
    'localhost.example.org',
    '127.0.0.1.example.org',
    'example.org@localhost',
    'localhost/example.org',
    'localhost#example.org',
    'localhost\\example.org',
    '%6cocalhost',
    'local\thost',
    '[::1]example.org',
    'localhost:80:80',
    '',
    undefined,
  ])('%s is not', (host) => {
    expect(answers({}, host)).toBe(false);
  });

  test.each([
    ['localhost:8003', 'http://localhost:8003', true],
    ['127.0.0.1:8003', 'http://localhost:8003', true],
    ['localhost:8003', 'http://localhost:3000', false],
    ['localhost:8003', 'http://localhost', false],
    ['localhost:8003', 'http://evil.example:8003', false],
    ['localhost:8003', 'null', false],
  ])('asked as %s for a page of %s: %s', (host, origin, expected) => {
    expect(answers({}, host, origin)).toBe(expected);
  });

  test('a name that is allowed is us too, as a proxy before us may pass it on', () => {
    expect(answers({ allowedHosts: ['box.example'] }, 'BOX.example:443', 'https://box.example')).toBe(true);
    expect(answers({ allowedHosts: ['box.example'] }, 'x.box.example')).toBe(false);
  });
});

describe('on an open network', () => {
  const open = { host: '0.0.0.0', allowedHosts: ['box.example'] };

  test.each(['192.168.1.4:8003', '[fe80::1]', 'localhost', 'box.example'])('%s is us', (host) => {
    expect(answers(open, host)).toBe(true);
  });

  test.each(['example.org', '192.168.1.4.example.org', '', undefined])('%s is not', (host) => {
    expect(answers(open, host)).toBe(false);
  });

  test.each([
    ['192.168.1.4:8003', 'http://192.168.1.4:8003', true],
    ['192.168.1.4:8003', 'http://192.168.1.4:3000', false],
    ['192.168.1.4', 'https://192.168.1.4', true],
    ['192.168.1.4', 'http://192.168.1.5', false],
    ['192.168.1.4', 'http://localhost:3000', false],
    ['192.168.1.4', 'https://box.example', true],
    ['box.example', 'https://box.example:8443', true],
    ['box.example', 'https://evil.example', false],
    ['box.example', 'null', false],
  ])('asked as %s for a page of %s: %s', (host, origin, expected) => {
    expect(answers(open, host, origin)).toBe(expected);
  });
});
