import { expect, test } from '@jest/globals';
import { readWorkerConfig } from './config.js';

const files: Readonly<Record<string, string>> = { 'dev.key': 'sbx_from_file\n' };
const readFile = (path: string) => {
  const text = files[path];
  if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
  return text;
};

test('a key comes from the environment, or from a file', () => {
  expect(readWorkerConfig({}, readFile).key).toBeUndefined();
  expect(readWorkerConfig({ SECBOX_KEY_FILE: 'dev.key' }, readFile).key).toBe('sbx_from_file');
  expect(readWorkerConfig({ SECBOX_KEY: 'k', SECBOX_KEY_FILE: 'dev.key' }, readFile).key).toBe('k');
});

test('everything that is wrong is told at once', () => {
  const wrong = {
    SECBOX_URL: 'localhost:8003',
    SECBOX_TOOL_NAMES: 'dashes',
    SECBOX_SKILLS_POLL_MS: '0',
    SECBOX_KEY_FILE: 'none',
  };
  const told = () => readWorkerConfig(wrong, readFile);
  for (const name of Object.keys(wrong)) expect(told).toThrow(name);
});
