import { describe, expect, test } from '@jest/globals';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { carryVariables, type CarriedVariables } from './cli-variables.js';

const fileOf = ({ options }: CarriedVariables) =>
  options.find((option) => option.startsWith('--env-file='))?.slice('--env-file='.length) ?? '';

describe('the variables of a container', () => {
  test('none need no file and no option', async () => {
    await carryVariables({}, (carried) => {
      expect(carried).toEqual({ options: [], environment: {} });
      return Promise.resolve();
    });
  });

  test('lie in a file that only we can read, and only for as long as it is needed', async () => {
    const file = await carryVariables({ A: 'x=y', LD_PRELOAD: '/evil.so', B: '' }, (carried) => {
      const path = fileOf(carried);
      expect(carried).toEqual({ options: [`--env-file=${path}`], environment: {} });
      expect(readFileSync(path, 'utf8')).toBe('A=x=y\nLD_PRELOAD=/evil.so\nB=\n');
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
      return Promise.resolve(path);
    });
    expect(existsSync(dirname(file))).toBe(false);
  });

  test('are gone also when the program fails', async () => {
    let file = '';
    const failing = carryVariables({ A: 'b' }, (carried) => {
      file = fileOf(carried);
      return Promise.reject(new Error('refused'));
    });
    await expect(failing).rejects.toThrow('refused');
    expect(existsSync(dirname(file))).toBe(false);
  });

  test.each([
    ['KEY', 'a\nb'],
    ['KEY', 'a\r'],
    ['KEY', 'x'.repeat(40_000)],
    ['#KEY', 'x'],
    [' KEY', 'x'],
    ['\uFEFFKEY', 'x'],
  ])('what a line cannot hold is inherited, by name: %j', async (name, value) => {
    await carryVariables({ [name]: value }, (carried) => {
      expect(carried).toEqual({ options: [`--env=${name}`], environment: { [name]: value } });
      return Promise.resolve();
    });
  });

  test.each([
    'PATH',
    'Path',
    'HOME',
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'GLIBC_TUNABLES',
    'DOCKER_HOST',
    'docker_config',
    'https_proxy',
    'NO_PROXY',
    'GODEBUG',
    'SSL_CERT_FILE',
    'SSH_AUTH_SOCK',
    'TMPDIR',
    'A=B',
  ])('but never where the docker program might take it for its own: %s', async (name) => {
    const refused = carryVariables({ [name]: 'a\nb' }, () => Promise.reject(new Error('used')));
    await expect(refused).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
