import {
  artifactListingSchema,
  errorSchema,
  execAnswerSchema,
  execIdPattern,
  execPageSchema,
  execRecordSchema,
  execRequestSchema,
  execStatsSchema,
  healthSchema,
  inputListingSchema,
  namePattern,
  policySnapshotSchema,
  projectPageSchema,
  projectRemovalSchema,
  retentionRunSchema,
  settingsHistorySchema,
  settingsSchema,
  settingsVersionSchema,
} from '@secbox/contracts';
import { operations, type Operation } from './operations.js';

const { $id: _request, ...execRequest } = execRequestSchema;
const { $id: _settings, ...settings } = settingsSchema;

const schemas: Readonly<Record<string, object>> = {
  ArtifactListing: artifactListingSchema,
  Error: errorSchema,
  ExecAnswer: execAnswerSchema,
  ExecPage: execPageSchema,
  ExecRecord: execRecordSchema,
  ExecRequest: execRequest,
  ExecStats: execStatsSchema,
  Health: healthSchema,
  InputListing: inputListingSchema,
  ProjectPage: projectPageSchema,
  ProjectRemoval: projectRemovalSchema,
  RetentionRun: retentionRunSchema,
  PolicySnapshot: policySnapshotSchema,
  Serving: {
    type: 'object',
    additionalProperties: false,
    required: ['status'],
    properties: { status: { type: 'string', enum: ['ok'] } },
  },
  Settings: settings,
  SettingsHistory: settingsHistorySchema,
  SettingsVersion: settingsVersionSchema,
};

const tags = {
  execs: 'Run commands in sandboxes.',
  audit: 'Ask what ran.',
  files: 'What an exec saw, printed and left behind.',
  projects: 'Projects, and how their files end.',
  settings: 'What an administrator decides.',
  service: 'How the service is.',
} as const satisfies Record<Operation['tag'], string>;

const pathParameters: Readonly<Record<string, object>> = {
  exec_id: { schema: { type: 'string', pattern: execIdPattern } },
  project_id: { schema: { type: 'string', pattern: namePattern } },
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
    // Callers are not authenticated: the server listens on this machine only.
    security: [],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      [...new Set(operations.map(({ path }) => path))].map((path) => [path, pathItem(path)]),
    ),
    components: { schemas },
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

function operationObject({
  id,
  tag,
  summary,
  query,
  headers = {},
  body,
  multipart,
  answers,
  errors,
}: Operation): object {
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
      Object.entries(errors).map(([status, description]) => [
        status,
        { description, content: jsonOf('Error') },
      ]),
    ),
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { ...jsonOf(body), ...(multipart ? multipartOf(body) : {}) },
          },
        }),
    responses,
  };
}

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
