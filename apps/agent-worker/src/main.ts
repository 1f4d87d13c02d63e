import { readFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SecboxClient } from '@secbox/client';
import { SkillsServer } from '@secbox/mcp-skills';
import { ConfigError, readWorkerConfig } from './config.js';
import { SkillsProvider } from './skills-provider.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** On stdout the protocol is spoken; whatever is for people goes to stderr. */
function say(error: unknown): void {
  process.stderr.write(`secbox agent-worker: ${error instanceof Error ? error.message : String(error)}\n`);
}

async function main(): Promise<void> {
  const config = readWorkerConfig(process.env, (path) => readFileSync(path, 'utf8'));
  const client = new SecboxClient({ url: config.url, key: config.key });
  const source = new SkillsProvider({ client, pollMs: config.pollMs, onError: say });
  const { naming, projectId } = config;
  const server = new SkillsServer({ source, version, naming, projectId, onError: say });
  const stop = () =>
    void server.close().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  process.once('SIGINT', stop).once('SIGTERM', stop);
  process.stdin.once('end', stop).once('close', stop);
  await server.connect(new StdioServerTransport());
}

await main().catch((error: unknown) => {
  say(error instanceof ConfigError ? `The configuration is not usable:\n${error.message}` : error);
  process.exit(1);
});
