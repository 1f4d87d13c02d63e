import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { repositoryRoot } from '../../docker/setup/settings.mjs';

export interface Destination {
  readonly url: string;
  readonly key: string;
  readonly naming?: 'dots' | 'underscores';
}

/** The two ways of a client to the skills of a server. */
export const roads = {
  http: ({ url, key, naming = 'dots' }: Destination) =>
    new StreamableHTTPClientTransport(new URL(`${url}/mcp?tool_names=${naming}`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  stdio: ({ url, key, naming = 'dots' }: Destination) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [join(repositoryRoot, 'apps/agent-worker/dist/main.js')],
      env: { SECBOX_URL: url, SECBOX_KEY: key, SECBOX_TOOL_NAMES: naming, SECBOX_SKILLS_POLL_MS: '50' },
    }),
} as const;

export type Road = keyof typeof roads;

/** The SDK's own client, connected. */
export async function connect(road: Road, destination: Destination): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(roads[road](destination));
  return client;
}
