import {
  approvalDecisionSchema,
  approvalPageSchema,
  approvalSchema,
  apiKeyPageSchema,
  apiKeyRequestSchema,
  apiKeySchema,
  artifactListingSchema,
  errorSchema,
  execAnswerSchema,
  execIdPattern,
  execPageSchema,
  execRecordSchema,
  execRequestSchema,
  execStatsSchema,
  fileChangeSchema,
  fileContentSchema,
  fileDeletedSchema,
  fileFactsSchema,
  fileListingSchema,
  fileMovedSchema,
  fileSearchSchema,
  healthSchema,
  inputListingSchema,
  invocationAnswerSchema,
  invocationRequestSchema,
  namePattern,
  newApiKeySchema,
  executeArgumentsSchema,
  executedCommandSchema,
  layerEffectsSchema,
  policySnapshotSchema,
  projectPageSchema,
  projectRemovalSchema,
  retentionRunSchema,
  runCodeAnswerSchema,
  runCodeRequestSchema,
  securityEventPageSchema,
  settingsHistorySchema,
  settingsSchema,
  settingsVersionSchema,
  skillDetailSchema,
  skillFileListingSchema,
  skillPageSchema,
  v1Schemas,
} from '@secbox/contracts';
import { routeAccess, type RouteAccess } from '../route-access.js';
import type { Operation } from './operation.js';
import { operations } from './operations.js';

const { $id: _request, ...execRequest } = execRequestSchema;
const { $id: _key, ...apiKeyRequest } = apiKeyRequestSchema;
const { $id: _code, ...runCodeRequest } = runCodeRequestSchema;
const { $id: _decision, ...approvalDecision } = approvalDecisionSchema;
const { $id: _settings, ...settings } = settingsSchema;
const { $id: _invocation, ...invocationRequest } = invocationRequestSchema;

const schemas: Readonly<Record<string, object>> = {
  ApiKey: apiKeySchema,
  ApiKeyPage: apiKeyPageSchema,
  ApiKeyRequest: apiKeyRequest,
  NewApiKey: newApiKeySchema,
  SecurityEventPage: securityEventPageSchema,
  Approval: approvalSchema,
  ApprovalDecision: approvalDecision,
  ApprovalPage: approvalPageSchema,
  ArtifactListing: artifactListingSchema,
  Error: errorSchema,
  ExecAnswer: execAnswerSchema,
  ExecPage: execPageSchema,
  ExecRecord: execRecordSchema,
  ExecRequest: execRequest,
  ExecStats: execStatsSchema,
  FileChange: fileChangeSchema,
  FileContent: fileContentSchema,
  FileDeleted: fileDeletedSchema,
  FileFacts: fileFactsSchema,
  FileListing: fileListingSchema,
  FileMoved: fileMovedSchema,
  FileSearch: fileSearchSchema,
  Health: healthSchema,
  InputListing: inputListingSchema,
  InvocationAnswer: invocationAnswerSchema,
  InvocationRequest: invocationRequest,
  McpMessage: {
    type: 'object',
    required: ['jsonrpc'],
    properties: {
      jsonrpc: { type: 'string', enum: ['2.0'] },
      id: { type: ['string', 'integer'] },
      method: { type: 'string' },
      params: { type: 'object' },
    },
  },
  ProjectPage: projectPageSchema,
  ProjectRemoval: projectRemovalSchema,
  RetentionRun: retentionRunSchema,
  PolicySnapshot: policySnapshotSchema,
  LayerEffects: layerEffectsSchema,
  ExecuteArguments: executeArgumentsSchema,
  ExecutedCommand: executedCommandSchema,
  RunCodeAnswer: runCodeAnswerSchema,
  RunCodeRequest: runCodeRequest,
  Serving: {
    type: 'object',
    additionalProperties: false,
    required: ['status'],
    properties: { status: { type: 'string', enum: ['ok'] } },
  },
  Settings: settings,
  SettingsHistory: settingsHistorySchema,
  SettingsVersion: settingsVersionSchema,
  SkillDetail: skillDetailSchema,
  SkillFileListing: skillFileListingSchema,
  SkillPage: skillPageSchema,
  ...v1Schemas,
};

const tags = {
  execs: 'Run commands in sandboxes.',
  skills: 'Functions with checked inputs and outputs, each a folder of skills/.',
  layers: 'Skills as files: baselines, and what users made of them.',
  sandboxes: 'A folder for each user of an agent, unrelated to skills.',
  approvals: 'What a human has to agree to.',
  audit: 'Ask what ran.',
  files: 'What an exec saw, printed and left behind.',
  projects: 'Projects, and how their files end.',
  settings: 'What an administrator decides.',
  keys: 'Who may come in.',
  service: 'How the service is.',
} as const satisfies Record<Operation['tag'], string>;

const securitySchemes = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer <key>`.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key.' },
} as const;

const pathParameters: Readonly<Record<string, object>> = {
  exec_id: { schema: { type: 'string', pattern: execIdPattern } },
  approval_id: { description: 'The id of its exec.', schema: { type: 'string', pattern: execIdPattern } },
  key_id: { schema: { type: 'string', pattern: execIdPattern } },
  project_id: { schema: { type: 'string', pattern: namePattern } },
  userId: { schema: { type: 'string', pattern: namePattern } },
  agentId: { schema: { type: 'string', pattern: namePattern } },
  skillId: { description: 'The name of its folder, in any script.', schema: { type: 'string' } },
  trashId: { schema: { type: 'string', pattern: execIdPattern } },
  version: { schema: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
  area: { schema: { type: 'string', enum: ['inputs', 'work', 'artifacts'] } },
  skill_id: { description: 'Such as json.query.', schema: { type: 'string' } },
  path: {
    description:
      'Its path in the list of artifacts, with slashes; bytes that are not plain are percent-encoded.',
    schema: { type: 'string' },
  },
};

/** The API as OpenAPI 3.1, of the very schemas that requests are checked against. */
export function openApiDocument(version: string): object {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Secbox',
      version,
      description: 'Runs untrusted code in hardened containers, and proves afterwards what ran.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      [...new Set(operations.map(({ path }) => path))].map((path) => [path, pathItem(path)]),
    ),
    components: { schemas, securitySchemes },
  };
}

function pathItem(path: string): object {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return {
    ...(names.length === 0
      ? {}
      : {
          parameters: names.map((name) => ({ name, in: 'path', required: true, ...pathParameters[name] })),
        }),
    ...Object.fromEntries(
      operations.filter((each) => each.path === path).map((each) => [each.method, operationObject(each)]),
    ),
  };
}

function accessOf({ method, path }: Operation): RouteAccess {
  const access = new Map<string, RouteAccess>(Object.entries(routeAccess)).get(
    `${method.toUpperCase()} ${path}`,
  );
  if (access === undefined) throw new Error(`The table of access does not have ${method} ${path}.`);
  return access;
}

const foreignHost = 'The Host or Origin header names another site.';

/** What is said of every call: the guard's own answers, beside those of the call itself. */
function errorsOf(operation: Operation, access: RouteAccess): Readonly<Record<string, string>> {
  const own = operation.errors[403];
  if (access === 'open') return { ...operation.errors, 403: foreignHost };
  const forbidden = ['The key lacks the role or is of another tenant.', ...(own === undefined ? [] : [own])];
  return {
    ...operation.errors,
    401: 'There is no key, or it does not hold.',
    403: [...forbidden, foreignHost].join(' '),
    429: ['The key has sent too many requests.', operation.errors[429] ?? ''].join(' ').trim(),
  };
}

function operationObject(operation: Operation): object {
  const { id, tag, summary, query, headers = {}, answers } = operation;
  const access = accessOf(operation);
  const parameters = [
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: query?.required?.includes(name) ?? false,
      schema: schema as unknown,
    })),
    ...Object.entries(headers).map(([name, { description, required = false }]) => ({
      name,
      in: 'header',
      description,
      required,
      schema: { type: 'string' },
    })),
  ];
  const responses = {
    ...Object.fromEntries(Object.entries(answers).map(([status, each]) => [status, responseOf(each)])),
    ...Object.fromEntries(
      Object.entries(errorsOf(operation, access)).map(([status, description]) => [
        status,
        { description, content: jsonOf(operation.path.startsWith('/v1/') ? 'V1Error' : 'Error') },
      ]),
    ),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(access === 'open'
      ? { security: [] }
      : {
          description: `Roles: ${access.roles.join(', ')}${access.scope === 'installation' ? ', of the tenant default' : ''}.`,
        }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBodyOf(operation),
    responses,
  };
}

function requestBodyOf({ body, multipart, form, bytes }: Operation): object {
  if (body !== undefined) {
    const content = { ...jsonOf(body), ...(multipart ? multipartOf(body) : {}) };
    return { requestBody: { required: true, content } };
  }
  if (form) return { requestBody: { required: true, content: archiveForm } };
  if (bytes === undefined) return {};
  const content = Object.fromEntries(bytes.map((type) => [type, { schema: { type: 'string' } }]));
  return { requestBody: { required: true, content } };
}

const archiveForm = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: {
        file: { type: 'string', contentMediaType: 'application/zip' },
        scope: { type: 'string', enum: ['baseline', 'overlay'] },
      },
      additionalProperties: false,
    },
  },
} as const;

function responseOf(answer: Operation['answers'][number]): object {
  const { description } = answer;
  if ('schema' in answer) return { description, content: jsonOf(answer.schema) };
  if ('nothing' in answer) return { description };
  return { description, content: Object.fromEntries(answer.types.map((type) => [type, {}])) };
}

/** The JSON body as one part, and files beside it. */
function multipartOf(schema: string): object {
  const file = { type: 'string', contentMediaType: 'application/octet-stream' };
  return {
    'multipart/form-data': {
      schema: {
        type: 'object',
        required: ['request'],
        properties: { request: { $ref: `#/components/schemas/${schema}` } },
        patternProperties: { '^inputs/.+': file, '^secret-inputs/.+': file },
        additionalProperties: false,
      },
      encoding: { request: { contentType: 'application/json' } },
    },
  };
}

function jsonOf(schema: string): object {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
}
