import { expect, test } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { readWorkerConfig, workerVariables } from '@secbox/agent-worker';
import { configVariables, readConfig } from '@secbox/core-api';

const root = new URL('../../', import.meta.url);
const readme = readFileSync(new URL('README.md', root), 'utf8');

const documented = readme
  .slice(readme.indexOf('## Configuration'))
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .map(([, name = '', fallback = '', meaning = '']) => ({ name, fallback, meaning }));

/** Variables of the system that set-up looks at but that are not ours to explain. */
const ofTheSystem = ['CI', 'HOME', 'PATH', 'TERM', 'TMPDIR', 'USERPROFILE', 'DEBIAN_FRONTEND'];

function readBySetUp(): string[] {
  const folder = new URL('docker/setup/', root);
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.mjs'))
    .map((name) => readFileSync(new URL(name, folder), 'utf8'));
  const names = sources.flatMap((source) =>
    [...source.matchAll(/\benv(?:\['([A-Z][A-Z_]+)'\]|\.([A-Z][A-Z_]+))/g)].map(
      (match) => match[1] ?? match[2] ?? '',
    ),
  );
  return [...new Set(names)].filter((name) => !ofTheSystem.includes(name) && !name.startsWith('npm_'));
}

test("the README's table lists every variable that the service and set-up read, and no other", () => {
  const real = new Set<string>([...configVariables, ...readBySetUp()]);
  expect(documented.map(({ name }) => name).sort()).toEqual([...real].sort());
});

test('every variable is explained', () => {
  expect(documented.filter(({ meaning }) => meaning.length < 20)).toEqual([]);
});

test('the documented defaults are the real ones', () => {
  const defaults = readConfig({});
  const written = Object.fromEntries(documented.map(({ name, fallback }) => [name, fallback]));
  expect(written).toMatchObject({
    PORT: String(defaults.port),
    SECBOX_HOST: defaults.host,
    SECBOX_AUTH: defaults.auth,
    SECBOX_DEV_KEY: defaults.developmentKey ? 'on' : 'off',
    SECBOX_TRUST_PROXY: defaults.trustProxy === false ? 'off' : 'on',
    SECBOX_BODY_TIMEOUT_MS: String(defaults.bodyTimeoutMs),
    SECBOX_SANDBOX_IMAGE: defaults.sandboxImage,
    SECBOX_MAX_CONCURRENT_EXECS: String(defaults.maxConcurrentExecs),
    SECBOX_MAX_QUEUED_EXECS: String(defaults.maxQueuedExecs),
    SECBOX_MAX_BODY_MB: String(defaults.maxBodyBytes / 1024 ** 2),
    SECBOX_SHUTDOWN_GRACE_MS: String(defaults.shutdownGraceMs),
    SECBOX_LOG_LEVEL: defaults.logLevel,
    SECBOX_LOG_FORMAT: defaults.logFormat,
    SECBOX_ENGINE_ADAPTER: defaults.engineAdapter,
    SECBOX_ENGINE_SOURCE: defaults.engineSource,
  });
});

test("the worker's README has the variables that it reads", () => {
  const page = readFileSync(new URL('apps/agent-worker/README.md', root), 'utf8');
  const rows = [...page.matchAll(/^\| `(SECBOX_\w+)` +\| (\S+) +\| (.{20,}) \|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual([...workerVariables]);
  const { url, naming, pollMs } = readWorkerConfig({}, () => '');
  const fallbacks = Object.fromEntries(
    rows.map(([, name = '', fallback = '']) => [name, fallback.replaceAll('`', '')]),
  );
  expect(fallbacks).toMatchObject({
    SECBOX_URL: url,
    SECBOX_TOOL_NAMES: naming,
    SECBOX_SKILLS_POLL_MS: String(pollMs),
  });
});
