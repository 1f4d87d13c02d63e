import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type CallToolRequest,
  type CallToolResult,
  type ListToolsResult,
  type ReadResourceResult,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import type { InvocationAnswer, InvocationRequest, SkillAnswer } from '@secbox/contracts';
import { artifactAt, artifactUriTemplate } from './artifact-uri.js';
import { CallProgress } from './call-progress.js';
import { codeResultOf, codeTool, codeToolName } from './code-tool.js';
import { followCall } from './follow-call.js';
import { protocolError, tellFailedCall } from './failures.js';
import type { InvocationEvent, SkillSource } from './skill-source.js';
import { skillIdOf, toolName, type ToolNaming } from './tool-names.js';
import { resultOf } from './tool-results.js';
import { isWrapped } from './tool-schemas.js';
import { toolOf } from './tools.js';

export interface SkillsServerOptions {
  readonly source: SkillSource;
  readonly version: string;
  readonly naming?: ToolNaming;
  /** Where calls run that do not say. */
  readonly projectId?: string | undefined;
  /** What callers are not told. */
  readonly onError: (error: unknown) => void;
}

const toolsOnPage = 1000;
/** What is read lies in memory three times before it is sent. */
const mostReadBytes = 8 * 1024 ** 2;

const instructions = `The tool run_code runs code; each other tool is a skill. All run in a fresh sandbox without a network. A file is sent to a skill as {name, content}, {name, content_base64} or, if an earlier call left it behind, {exec_id, path}. Files that a call leaves behind are linked as resources.`;

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Skills as the tools of one MCP client. */
export class SkillsServer {
  readonly #options: Required<Omit<SkillsServerOptions, 'projectId'>> &
    Pick<SkillsServerOptions, 'projectId'>;
  readonly #server: McpServer['server'];
  /** By digest: whether the output is wrapped. */
  readonly #wrapped = new Map<string, boolean>();
  readonly #left = new AbortController();
  #stopListening: () => void = () => undefined;

  constructor(options: SkillsServerOptions) {
    this.#options = { naming: 'dots', ...options };
    // Its own ways to make a tool take other schemas than JSON's, so that the protocol below is spoken.
    this.#server = new McpServer(
      { name: 'secbox', title: 'Secbox skills', version: options.version },
      { instructions },
    ).server;
    this.#server.registerCapabilities({ tools: { listChanged: true }, resources: {} });
    this.#server.onerror = options.onError;
    this.#server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
      this.#told(this.#listTools(params?.cursor)),
    );
    this.#server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
      this.#callTool(params, extra),
    );
    this.#server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [] }));
    this.#server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: [
        {
          uriTemplate: artifactUriTemplate,
          name: 'artifact',
          description: 'A file that a call left behind; the result of the call links it.',
        },
      ],
    }));
    this.#server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
      this.#told(this.#readResource(params.uri)),
    );
  }

  async connect(transport: Transport): Promise<void> {
    // Before the protocol aborts what runs: leaving is not cancelling.
    transport.onclose = () => this.#leave();
    await this.#server.connect(transport);
    this.#stopListening = this.#options.source.onChange(() => {
      this.#server.sendToolListChanged().catch(() => undefined);
    });
  }

  async close(): Promise<void> {
    this.#leave();
    await this.#server.close();
  }

  #leave(): void {
    this.#stopListening();
    this.#left.abort();
  }

  async #listTools(cursor: string | undefined): Promise<ListToolsResult> {
    const { source, naming } = this.#options;
    const after = cursor === undefined ? '' : skillIdOf(cursor, naming);
    if (after === undefined) throw new McpError(ErrorCode.InvalidParams, 'That is no cursor of this list.');
    const rest = (await source.list()).filter(({ id }) => id > after);
    const page = rest.slice(0, toolsOnPage);
    this.#wrapped.clear();
    for (const skill of page) this.#learn(skill);
    const last = rest.length > page.length ? page.at(-1) : undefined;
    return {
      tools: [...(after === '' ? [codeTool] : []), ...page.map((skill) => toolOf(skill, naming))],
      ...(last && { nextCursor: toolName(last.id, naming) }),
    };
  }

  async #callTool({ name, arguments: inputs = {}, _meta = {} }: CallToolRequest['params'], extra: Extra) {
    const { source, naming, onError } = this.#options;
    const skillId = name === codeToolName ? undefined : skillIdOf(name, naming);
    if (skillId === undefined && name !== codeToolName) throw unknownTool(name);
    const progress = this.#progressOf(extra);
    const follow = {
      cancelled: cancelledBy(extra.signal, this.#left.signal),
      left: this.#left.signal,
      onEvent: (event: InvocationEvent) => progress?.report(event),
    };
    const context = this.#contextIn(_meta);
    try {
      if (skillId === undefined) {
        const submit = () => source.submitCode({ ...context, ...inputs });
        return codeResultOf(
          await followCall(source, { ...follow, submit, answer: (id) => source.codeAnswer(id) }),
        );
      }
      const answer = await followCall(source, {
        ...follow,
        submit: () => source.submit(skillId, { inputs, ...context }),
        answer: (id) => source.answer(skillId, id),
      });
      return resultOf(answer, await this.#isWrapped(answer));
    } catch (error) {
      if (this.#left.signal.aborted) throw new McpError(ErrorCode.ConnectionClosed, 'The client has left.');
      if ((error as { code?: unknown }).code === 'skill_not_found') throw unknownTool(name);
      if (isUnexpected(error)) onError(error);
      return tellFailedCall(error) satisfies CallToolResult;
    } finally {
      progress?.end();
    }
  }

  /** Of a skill that was changed or removed since, what it gave says it. */
  async #isWrapped({ skill_id, skill_digest, output }: InvocationAnswer): Promise<boolean> {
    if (!this.#wrapped.has(skill_digest)) {
      await this.#options.source.find(skill_id).then(
        (skill) => this.#learn(skill),
        () => undefined,
      );
    }
    const isObject = typeof output === 'object' && output !== null && !Array.isArray(output);
    return this.#wrapped.get(skill_digest) ?? !isObject;
  }

  #learn({ digest, interface: described }: SkillAnswer): void {
    if (described) this.#wrapped.set(digest, isWrapped(described.outputs));
  }

  #progressOf({ _meta, sendNotification }: Extra): CallProgress | undefined {
    const progressToken = _meta?.progressToken;
    if (progressToken === undefined) return undefined;
    return new CallProgress({
      send: (progress) => {
        const params = { progressToken, ...progress };
        sendNotification({ method: 'notifications/progress', params }).catch(() => undefined);
      },
    });
  }

  /** What a client may say beside the inputs: in which project it runs, and what for. */
  #contextIn(meta: Readonly<Record<string, unknown>>): Omit<InvocationRequest, 'inputs'> {
    const project = meta['secbox/project_id'] ?? this.#options.projectId;
    const task = meta['secbox/task_ref'];
    return {
      ...(project === undefined ? {} : { project_id: project as string }),
      ...(task === undefined ? {} : { task_ref: task as NonNullable<InvocationRequest['task_ref']> }),
    };
  }

  async #readResource(uri: string): Promise<ReadResourceResult> {
    const artifact = artifactAt(uri);
    if (!artifact) throw new McpError(ErrorCode.InvalidParams, `There is no resource ${uri}.`);
    const { bytes, mediaType } = await this.#options.source.readArtifact(
      artifact.execId,
      artifact.path,
      mostReadBytes,
    );
    const contents = { uri, mimeType: mediaType };
    const text = textIn(bytes);
    if (text !== undefined) return { contents: [{ ...contents, text }] };
    return { contents: [{ ...contents, blob: Buffer.from(bytes).toString('base64') }] };
  }

  async #told<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (error) {
      if (isUnexpected(error)) this.#options.onError(error);
      throw protocolError(error);
    }
  }
}

/** The protocol aborts for both: a client that cancels and one that is gone. */
function cancelledBy(aborted: AbortSignal, left: AbortSignal): AbortSignal {
  const cancelled = new AbortController();
  const decide = () => left.aborted || cancelled.abort();
  if (aborted.aborted) decide();
  else aborted.addEventListener('abort', decide, { once: true });
  return cancelled.signal;
}

function unknownTool(name: string): McpError {
  return new McpError(ErrorCode.InvalidParams, `There is no tool ${JSON.stringify(name.slice(0, 128))}.`);
}

function isUnexpected(error: unknown): boolean {
  return !(error instanceof McpError) && (error as { kind?: unknown }).kind === undefined;
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
