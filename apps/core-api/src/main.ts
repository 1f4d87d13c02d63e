import { existsSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { SecboxError } from '@secbox/contracts';
import { createLogger } from '@secbox/logging';
import { resolveRuntimeMode } from '@secbox/workspace';
import { ConfigError, readConfig, type Config } from './config.js';
import { startService, type Service } from './service.js';
import { userProblem } from './service-user.js';
import { takePrecedence } from './take-precedence.js';

const version = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

async function main(): Promise<Service> {
  const config = readConfig(process.env);
  const problem = userProblem(process.platform, process.getuid?.());
  if (problem !== undefined) throw new ConfigError([problem]);
  // Before there are threads and helpers, which have the same.
  takePrecedence();
  const pretty = config.logFormat === 'auto' ? process.stderr.isTTY : config.logFormat === 'pretty';
  const logger = createLogger({
    level: config.logLevel,
    format: pretty ? 'pretty' : 'json',
    destination: process.stderr,
  });
  process.once('exit', () => logger.flush());
  const service = await startService({
    config,
    logger,
    searchPath: process.env['PATH'] ?? '',
    runtimeMode: resolveRuntimeMode(config.runtimeMode, {
      platform: process.platform,
      release: release(),
      procVersion: existsSync('/proc/version') ? readFileSync('/proc/version', 'utf8') : undefined,
      env: process.env,
      inContainer: ['/.dockerenv', '/run/.containerenv'].some((path) => existsSync(path)),
    }),
    version,
  });
  stopOnSignal(service);
  process.stdout.write(`
Secbox serves on ${service.url}
${howToBegin(service, config)}
`);
  return service;
}

function howToBegin({ url, developmentKey }: Service, { auth }: Config): string {
  const body = {
    project_id: 'hello',
    exec: { kind: 'python', command: 'python', args: ['-c', 'print(6 * 7)'] },
  };
  const json = `-H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
  const first = (credentials: string) =>
    `\nRun a first exec:\n\n  curl -s ${url}/sandbox/execs ${credentials}${json}\n`;
  if (auth === 'off') return `Callers are not told apart (SECBOX_AUTH=off).\n${first('')}`;
  if (developmentKey?.usable) {
    return first(`-H "authorization: Bearer $(cat '${developmentKey.path}')" `);
  }
  const revoked = developmentKey ? `The key in ${developmentKey.path} does not hold any more. ` : '';
  return `${revoked}Callers need a key; "npm run key -- --help" says how to make one.\n`;
}

/** The first signal stops cleanly, a second one at once. */
function stopOnSignal(service: Service): void {
  const stop = () => {
    process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
    service.close().then(
      () => process.exit(0),
      (error: unknown) => fail(error),
    );
  };
  const once = () => {
    process.off('SIGINT', once).off('SIGTERM', once);
    stop();
  };
  process.on('SIGINT', once).on('SIGTERM', once);
}

/** What an operator can act on is told without a stack trace. */
function fail(error: unknown): never {
  const expected = error instanceof ConfigError || error instanceof SecboxError || isListenError(error);
  process.stderr.write(
    `secbox: ${expected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
}

function isListenError(error: unknown): error is Error {
  return error instanceof Error && (error as NodeJS.ErrnoException).syscall === 'listen';
}

await main().catch(fail);
