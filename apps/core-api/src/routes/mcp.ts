import { randomUUID } from 'node:crypto';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import type { Principal, SecurityLog } from '@secbox/access';
import {
  invocationRequestSchema,
  runCodeRequestSchema,
  SecboxError,
  type InvocationRequest,
  type RunCodeRequest,
} from '@secbox/contracts';
import type { Logger } from '@secbox/logging';
import { SkillsServer, toolNamings, type ToolNaming } from '@secbox/mcp-skills';
import type { Request, Response } from 'express';
import { askerOf } from '../caller.js';
import { admit } from '../door.js';
import type { GuardedRoutes } from '../guarded-routes.js';
import { jsonBody } from '../json-body.js';
import { LocalSkills, type LocalSkillsParts } from '../mcp/local-skills.js';
import type { Sessions } from '../mcp/sessions.js';
import { routeAccess, type RouteAccess, type RouteName } from '../route-access.js';
import { validatorOf } from '../validate.js';

/** One client: the server that it talks to, and the way its requests get there. */
export interface McpSession {
  readonly transport: StreamableHTTPServerTransport;
  close(): Promise<void>;
}

export interface McpRoutesOptions extends Omit<
  LocalSkillsParts,
  'admit' | 'asker' | 'validate' | 'validateCode'
> {
  readonly sessions: Sessions<McpSession>;
  readonly securityLog: Pick<SecurityLog, 'refused'>;
  readonly logger: Logger;
  readonly version: string;
  readonly maxBodyBytes: number;
}

/** Skills as tools, by MCP's streamable HTTP. A session belongs to the key that opened it. */
export function mcpRoutes(routes: GuardedRoutes<RouteName>, options: McpRoutesOptions): void {
  const { sessions, securityLog: log, logger, version, maxBodyBytes, ...parts } = options;
  const validate = validatorOf<InvocationRequest>(invocationRequestSchema);
  const validateCode = validatorOf<RunCodeRequest>(runCodeRequestSchema);

  const open = async (request: Request, caller: Principal, id: string): Promise<McpSession> => {
    const naming = namingIn(request);
    const address = request.ip ?? null;
    const source = new LocalSkills(caller, {
      ...parts,
      validate,
      validateCode,
      asker: askerOf(request, caller),
      admit: (route) => {
        const access: RouteAccess = routeAccess[route];
        if (access !== 'open') admit(caller, access, { route, address, log });
      },
    });
    const server = new SkillsServer({
      source,
      version,
      naming,
      onError: (error) => logger.warn('mcp.failed', { error }),
    });
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => id,
      onsessionclosed: () => sessions.remove(id),
    });
    await server.connect(transport);
    return { transport, close: () => server.close() };
  };

  const serve = async (request: Request, response: Response, caller: Principal, id: string) => {
    const { session, done } = sessions.use(id, ownerOf(caller));
    response.once('close', done);
    response.setHeader('cache-control', 'no-store');
    await session.transport.handleRequest(request, response, request.body);
    return session;
  };

  routes.on(
    'POST /mcp',
    async (request, response, caller) => {
      const known = sessionIn(request);
      if (known !== undefined) return serve(request, response, caller, known);
      if (!isInitializeRequest(request.body)) {
        throw new SecboxError(
          'invalid_request',
          'A session begins with "initialize", and is named by "Mcp-Session-Id" afterwards.',
        );
      }
      const id = randomUUID();
      const session = await open(request, caller, id);
      try {
        sessions.add(id, ownerOf(caller), session);
      } catch (error) {
        await session.close();
        throw error;
      }
      await serve(request, response, caller, id);
      // What the protocol refused is no session.
      if (session.transport.sessionId === undefined) sessions.remove(id);
      return undefined;
    },
    jsonBody(maxBodyBytes),
  );

  for (const route of ['GET /mcp', 'DELETE /mcp'] as const) {
    routes.on(route, (request, response, caller) => {
      const id = sessionIn(request);
      if (id === undefined) throw new SecboxError('invalid_request', 'Name a session by "Mcp-Session-Id".');
      return serve(request, response, caller, id);
    });
  }
}

/** By tenant and key, where callers are told apart. */
function ownerOf({ tenant, actor }: Principal): string {
  return JSON.stringify([tenant, actor]);
}

function sessionIn({ headers }: Request): string | undefined {
  const header = headers['mcp-session-id'];
  return typeof header === 'string' ? header : undefined;
}

/** `/mcp?tool_names=underscores`, for clients whose model takes no dots. */
function namingIn({ query }: Request): ToolNaming {
  const asked = query['tool_names'];
  const naming = asked === undefined ? 'dots' : toolNamings.find((each) => each === asked);
  if (naming) return naming;
  throw new SecboxError('invalid_request', `"tool_names" in the URL must be ${toolNamings.join(' or ')}.`);
}
